//! The demo's people and what they belong to.
//!
//! Invariant: users are named by role; groups are paths (`/muster/einkauf`), as a company's provider sends them, and mean
//! nothing until a tenant's configuration maps them to blueprint groups.

/// Somebody who can sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoUser {
    /// User name (`preferred_username`), what the page's button says.
    pub name: String,
    /// `sub`; on purpose not the user name, so that nobody takes one for the other.
    pub sub: String,
    /// Name to show.
    pub full_name: String,
    /// E-mail.
    pub email: String,
    /// Groups, as the token carries them.
    pub groups: Vec<String>,
}

/// The provider's group for a blueprint group or role of a demo tenant. Customer `muster` has one set of people for all of
/// its tenants, so its groups name no tenant; every other customer keeps its tenants apart.
pub fn demo_group(customer: &str, tenant: &str, group: &str) -> String {
    if customer == "muster" { format!("/muster/{group}") } else { format!("/{customer}/{tenant}/{group}") }
}

/// The demo's users. `einkauf` works for muster/m1, muster/m2 and nord/a; `einkauf2` for muster only, and so must never see
/// anything of nord. In nord/b, a small firm, Buchhaltung buys and the manager both buys and books, so that only
/// the four-eyes rule keeps her from releasing what she bought.
pub fn demo_users() -> Vec<DemoUser> {
    let muster = |group: &str| demo_group("muster", "m1", group);
    let nord_a = |group: &str| demo_group("nord", "a", group);
    let nord_b = |group: &str| demo_group("nord", "b", group);
    let everywhere = |role: &str| vec![muster(role), nord_a(role), nord_b(role)];
    vec![
        user("einkauf", "Erika Einkauf", vec![muster("einkauf"), nord_a("einkauf")]),
        user("einkauf2", "Emil Einkauf", vec![muster("einkauf")]),
        user("buchhaltung", "Britta Buchhaltung", vec![muster("buchhaltung"), nord_a("buchhaltung")]),
        user("buchhaltung2", "Bernd Buchhaltung", vec![muster("buchhaltung"), nord_b("einkauf")]),
        user(
            "leitung",
            "Lena Leitung",
            vec![muster("leitung"), nord_a("leitung"), nord_b("leitung"), nord_b("einkauf"), nord_b("buchhaltung")],
        ),
        user("admin", "Anton Admin", everywhere("admin")),
        user("operator", "Olga Operator", everywhere("operator")),
        user("auditor", "Anne Auditor", everywhere("auditor")),
    ]
}

fn user(name: &str, full_name: &str, groups: Vec<String>) -> DemoUser {
    DemoUser {
        name: name.to_owned(),
        sub: format!("demo-{name}"),
        full_name: full_name.to_owned(),
        email: format!("{name}@demo.example"),
        groups,
    }
}
