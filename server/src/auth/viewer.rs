//! What a session's person is in each tenant.

use std::collections::BTreeSet;

use app::LANGUAGE_COOKIE;
use app::backend::{Membership, Viewer};
use axum::http::HeaderMap;
use vocab::{GroupName, Language, Role};

use crate::config::{Settings, TenantSettings};

use super::Session;
use super::cookies::find;

/// Maps the provider's groups to each tenant's blueprint groups and roles. A tenant that gives neither is left out, so
/// that a person's list of tenants names nobody else's.
pub fn viewer(session: &Session, settings: &Settings) -> Viewer {
    let held: BTreeSet<&str> = session.idp_groups.iter().map(String::as_str).collect();
    let memberships = settings.tenant.iter().filter_map(|tenant| membership(tenant, &held)).collect();
    Viewer { person: session.person.clone(), memberships }
}

/// The language that the person chose, by its cookie; German without one.
pub fn language(headers: &HeaderMap) -> Language {
    find(headers, LANGUAGE_COOKIE).map(Language::from_code).unwrap_or_default()
}

fn membership(tenant: &TenantSettings, held: &BTreeSet<&str>) -> Option<Membership> {
    let holds = |idp_groups: &[String]| idp_groups.iter().any(|group| held.contains(group.as_str()));
    let groups: BTreeSet<GroupName> = tenant
        .groups
        .iter()
        .filter(|(_, idp_groups)| holds(idp_groups))
        .map(|(group, _)| GroupName::new(group.as_str()))
        .collect();
    let roles: BTreeSet<Role> = [
        (Role::Operator, &tenant.roles.operator),
        (Role::Admin, &tenant.roles.admin),
        (Role::Auditor, &tenant.roles.auditor),
    ]
    .into_iter()
    .filter(|(_, idp_groups)| holds(idp_groups))
    .map(|(role, _)| role)
    .collect();
    let belongs = !groups.is_empty() || !roles.is_empty();
    belongs.then(|| Membership { tenant: tenant.key(), groups, roles })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't read its own data must fail loudly")]
mod tests {
    use std::path::Path;

    use chrono::Utc;
    use vocab::{Person, TenantKey, UserId};

    use super::*;

    const CONFIG: &str = r#"
[oidc]
issuer = "https://idp.example"
client_id = "us"
[[tenant]]
customer = "muster"
tenant = "m1"
groups = { einkauf = ["/muster/einkauf", "/alle"], buchhaltung = ["/muster/buchhaltung"] }
roles = { operator = ["/muster/betrieb"] }
[[tenant]]
customer = "nord"
tenant = "a"
groups = { einkauf = ["/nord/einkauf"] }
"#;

    fn viewer_with(groups: &[&str]) -> Viewer {
        let person = Person { id: UserId::new("u"), name: "U".to_owned() };
        let idp_groups = groups.iter().map(|group| (*group).to_owned()).collect();
        let now = Utc::now();
        let session = Session { person, idp_groups, created_at: now, seen_at: now, id_token: None };
        viewer(&session, &Settings::from_toml(CONFIG, Path::new(""), &[]).unwrap())
    }

    #[test]
    fn a_group_counts_in_its_own_tenant_only() {
        let viewer = viewer_with(&["/muster/einkauf"]);
        assert_eq!(viewer.memberships.len(), 1);
        let here = &viewer.memberships[0];
        assert_eq!(here.tenant, TenantKey::new("muster", "m1"));
        assert_eq!(here.groups, BTreeSet::from([GroupName::new("einkauf")]));
        assert!(here.roles.is_empty());
    }

    #[test]
    fn roles_and_several_groups() {
        let viewer = viewer_with(&["/muster/betrieb", "/alle", "/nord/einkauf", "einkauf", "/muster"]);
        assert_eq!(viewer.memberships.len(), 2);
        assert_eq!(viewer.memberships[0].roles, BTreeSet::from([Role::Operator]));
        assert_eq!(viewer.memberships[0].groups.len(), 1);
    }

    #[test]
    fn no_known_group_no_tenant() {
        assert!(viewer_with(&[]).memberships.is_empty());
        assert!(viewer_with(&["einkauf", "/MUSTER/EINKAUF", "m1"]).memberships.is_empty());
    }
}
