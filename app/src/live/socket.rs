//! The WebSocket itself, driven by the schedule.
//!
//! Invariant: at most one socket; the closures of a dropped socket never act again.
//! Never: decide when; that is `schedule`.

use std::{cell::RefCell, rc::Rc, time::Duration};

use contract::PushMessage;
use leptos::{ev, prelude::*};
use wasm_bindgen::{JsCast, prelude::Closure};
use web_sys::{CloseEvent, Event, MessageEvent, WebSocket};

use super::{
    Live,
    schedule::{Due, Schedule},
};
use crate::browser;

/// How often the schedule is asked.
const HEARTBEAT: Duration = Duration::from_millis(500);

struct Driver {
    live: Live,
    schedule: Schedule,
    socket: Option<Socket>,
    serial: u64,
}

/// A socket with the closures that the browser calls; dropping it detaches them.
struct Socket {
    inner: WebSocket,
    _on_open: Closure<dyn FnMut(Event)>,
    _on_message: Closure<dyn FnMut(MessageEvent)>,
    _on_close: Closure<dyn FnMut(CloseEvent)>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.inner.set_onopen(None);
        self.inner.set_onmessage(None);
        self.inner.set_onclose(None);
        // Closing a socket that is closed already is not an error worth telling.
        let _ = self.inner.close();
    }
}

/// Connects for the life of the page.
pub(super) fn connect(live: Live) {
    let schedule = Schedule::new(browser::now_ms());
    let driver = Rc::new(RefCell::new(Driver { live, schedule, socket: None, serial: 0 }));
    beat(&driver);
    let beating = Rc::clone(&driver);
    set_interval(move || beat(&beating), HEARTBEAT);
    let online = Rc::clone(&driver);
    window_event_listener(ev::online, move |_| hurry(&online));
    let shown = Rc::clone(&driver);
    window_event_listener_untyped("visibilitychange", move |_| hurry(&shown));
    let focused = driver;
    window_event_listener(ev::focus, move |_| hurry(&focused));
}

fn hurry(driver: &Rc<RefCell<Driver>>) {
    driver.borrow_mut().schedule.hurry(browser::now_ms());
    beat(driver);
}

fn beat(driver: &Rc<RefCell<Driver>>) {
    let now = browser::now_ms();
    let (due, live, link) = {
        let mut driver = driver.borrow_mut();
        let due = driver.schedule.due(now);
        (due, driver.live, driver.schedule.link(now))
    };
    for due in due {
        match due {
            Due::Connect => open(driver),
            Due::Drop => closed(driver),
            Due::Poll => live.resync(),
        }
    }
    live.show(link);
}

fn open(driver: &Rc<RefCell<Driver>>) {
    let serial = {
        let mut driver = driver.borrow_mut();
        driver.socket = None;
        driver.serial += 1;
        driver.serial
    };
    match socket(driver, serial) {
        Some(socket) => driver.borrow_mut().socket = Some(socket),
        None => closed(driver),
    }
}

fn socket(driver: &Rc<RefCell<Driver>>, serial: u64) -> Option<Socket> {
    let location = window().location();
    let scheme = if location.protocol().ok()? == "https:" { "wss" } else { "ws" };
    let inner = WebSocket::new(&format!("{scheme}://{}/ws", location.host().ok()?)).ok()?;
    let opening = Rc::clone(driver);
    let on_open = Closure::<dyn FnMut(Event)>::new(move |_| {
        if current(&opening, serial) {
            opened(&opening);
        }
    });
    let hearing = Rc::clone(driver);
    let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        if current(&hearing, serial) {
            heard(&hearing, &event);
        }
    });
    let closing = Rc::clone(driver);
    let on_close = Closure::<dyn FnMut(CloseEvent)>::new(move |_| {
        if current(&closing, serial) {
            // The closure that is running belongs to the socket: drop it only after this turn.
            let closing = Rc::clone(&closing);
            set_timeout(move || closed_if(&closing, serial), Duration::ZERO);
        }
    });
    inner.set_onopen(Some(on_open.as_ref().unchecked_ref()));
    inner.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    inner.set_onclose(Some(on_close.as_ref().unchecked_ref()));
    Some(Socket { inner, _on_open: on_open, _on_message: on_message, _on_close: on_close })
}

fn current(driver: &Rc<RefCell<Driver>>, serial: u64) -> bool {
    driver.borrow().serial == serial
}

fn opened(driver: &Rc<RefCell<Driver>>) {
    let now = browser::now_ms();
    let live = {
        let mut driver = driver.borrow_mut();
        driver.schedule.opened(now);
        driver.live
    };
    live.show(super::Link::Open);
    // Whatever happened before the connection was up was not heard.
    live.resync();
}

fn heard(driver: &Rc<RefCell<Driver>>, event: &MessageEvent) {
    let live = {
        let mut driver = driver.borrow_mut();
        driver.schedule.seen(browser::now_ms());
        driver.live
    };
    let Some(text) = event.data().as_string() else { return };
    match serde_json::from_str::<PushMessage>(&text) {
        Ok(message) => live.take(message),
        // A newer server may say things this page doesn't know: look at everything again.
        Err(_) => live.resync(),
    }
}

fn closed_if(driver: &Rc<RefCell<Driver>>, serial: u64) {
    if current(driver, serial) {
        closed(driver);
    }
}

fn closed(driver: &Rc<RefCell<Driver>>) {
    let mut driver = driver.borrow_mut();
    driver.serial += 1;
    driver.socket = None;
    driver.schedule.closed(browser::now_ms(), js_sys::Math::random());
}
