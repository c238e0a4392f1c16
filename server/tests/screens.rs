//! The screens as the server asks for them: which there are, also when asked often.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Starts that are tried.
const STARTS: usize = 2_000;

/// The list is made by running the app once; nothing it leaves behind may run when the app is gone. An effect that did
/// (it kept the language's cookie) read a signal of the dead app and panicked, where another thread ran it in just that
/// moment: about once in 1,000 tries, and only the panic hook saw it.
#[test]
fn asking_for_the_screens_leaves_nothing_behind() {
    let panics = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&panics);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        counter.fetch_add(1, Ordering::SeqCst);
        before(info);
    }));
    for _ in 0..STARTS {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
        runtime.block_on(async {
            let screens = leptos_axum::generate_route_list(app::App);
            let mut paths: Vec<&str> = screens.iter().map(leptos_axum::AxumRouteListing::path).collect();
            paths.sort_unstable();
            assert_eq!(paths, ["/", "/anmeldung", "/aufgaben", "/aufgaben/{id}", "/vorgaenge/{id}"]);
            // What was left behind gets its turn now.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
    }
    assert_eq!(panics.load(Ordering::SeqCst), 0, "something ran on after the app was gone");
}
