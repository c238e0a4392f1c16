//! The rules of the house (DESIGN §2): which crate may know which, what the browser's half never holds, how large a file
//! may get.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Lines a source file may have.
const FILE_LINES_MAX: usize = 800;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The allowed edges between our crates, and no others.
fn allowed() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    BTreeMap::from([
        ("vocab", BTreeSet::new()),
        ("contract", BTreeSet::from(["vocab"])),
        ("app", BTreeSet::from(["contract"])),
        ("frontend", BTreeSet::from(["app"])),
        ("workflow", BTreeSet::from(["vocab"])),
        ("ports", BTreeSet::from(["workflow"])),
        ("engine", BTreeSet::from(["workflow", "ports"])),
        ("adapters", BTreeSet::from(["ports"])),
        ("sim", BTreeSet::from(["ports", "engine"])),
        ("server", BTreeSet::from(["app", "contract", "vocab", "workflow", "ports", "engine", "adapters", "sim"])),
        ("xtask", BTreeSet::new()),
    ])
}

#[test]
fn crates_know_only_whom_they_may() {
    let metadata = MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec().unwrap();
    let ours: BTreeSet<String> = metadata.packages.iter().map(|package| package.name.to_string()).collect();
    let allowed = allowed();
    assert_eq!(
        ours,
        allowed.keys().map(|name| (*name).to_owned()).collect(),
        "a crate came or went: say so in DESIGN §2"
    );
    for package in &metadata.packages {
        let name = package.name.to_string();
        let edges: BTreeSet<String> = package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind == DependencyKind::Normal && ours.contains(&dependency.name))
            .map(|dependency| dependency.name.clone())
            .collect();
        let may = &allowed[name.as_str()];
        let wrong: Vec<&String> = edges.iter().filter(|edge| !may.contains(edge.as_str())).collect();
        assert!(wrong.is_empty(), "{name} must not depend on {wrong:?}");
        if name == "server" {
            let sim = package.dependencies.iter().find(|dependency| dependency.name == "sim").unwrap();
            assert!(sim.optional, "the simulators are part of the demo only");
        }
    }
}

#[test]
fn the_browser_never_gets_the_servers_half() {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(vec!["--filter-platform".to_owned(), "wasm32-unknown-unknown".to_owned(), "--locked".to_owned()])
        .exec()
        .unwrap();
    let graph = metadata.resolve.unwrap();
    let nodes: BTreeMap<_, _> = graph.nodes.iter().map(|node| (node.id.clone(), node)).collect();
    let names: BTreeMap<_, _> =
        metadata.packages.iter().map(|package| (package.id.clone(), package.name.to_string())).collect();
    // The graph unites the features of the whole workspace, so `app`'s own optional dependencies are followed only
    // where its `hydrate` feature has them: those that are not optional.
    let app_plain: BTreeSet<String> = metadata
        .packages
        .iter()
        .find(|package| package.name.as_str() == "app")
        .unwrap()
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind == DependencyKind::Normal && !dependency.optional)
        .map(|dependency| dependency.name.clone())
        .collect();
    assert!(
        !app_plain.contains("leptos_axum") && !app_plain.contains("async-trait"),
        "server-only crates are optional"
    );
    for ours in ["frontend", "app", "contract", "vocab"] {
        let package = metadata.packages.iter().find(|package| package.name.as_str() == ours).unwrap();
        let node = nodes[&package.id];
        for dependency in &node.deps {
            let name = &names[&dependency.pkg];
            let optional = package.dependencies.iter().any(|declared| declared.name == *name && declared.optional);
            let banned = ["tokio", "axum", "engine", "workflow", "ports", "adapters", "sim", "server"]
                .contains(&name.as_str())
                || name.starts_with("aws-");
            assert!(optional || !banned, "{ours} must not bring {name} to the browser");
        }
    }
}

#[test]
fn files_stay_small() {
    let mut large = Vec::new();
    for folder in ["app", "frontend", "server", "xtask"] {
        walk(&root().join(folder), &mut |path| {
            let text = std::fs::read_to_string(path).unwrap();
            let lines = text.lines().count();
            if lines > FILE_LINES_MAX {
                large.push(format!("{}: {lines} lines", path.display()));
            }
            assert!(text.starts_with("//!"), "{} says nothing about itself: begin it with `//!`", path.display());
        });
    }
    assert!(large.is_empty(), "split these files: {large:#?}");
}

fn walk(folder: &Path, visit: &mut impl FnMut(&Path)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target") {
                walk(&path, visit);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            visit(&path);
        }
    }
}
