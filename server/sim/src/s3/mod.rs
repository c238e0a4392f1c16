//! An S3 server over any store, for trying the S3 adapter against every answer a server can give (DESIGN §4).
//!
//! Purpose: the adapter speaks the real protocol (signatures, headers, status codes) to something that fails on command.
//! Invariant: a call that isn't carried out exactly as S3 does is answered with `NotImplemented`, never half done.
//! Never: reachable from another machine; part of a production build.
//!
//! Known limits: checksums in requests are accepted and not compared. A bucket's versioning status and lifecycle rules are
//! remembered as long as the server lives; the objects are the store's. Deleted keys are found by `ListObjectVersions` only
//! under their full name as prefix.

mod faults;
mod listing;
mod objects;

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ports::Store;
use s3s::auth::{S3Auth, SecretKey};
use s3s::service::{S3Service, S3ServiceBuilder};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

pub use faults::S3Faults;
use objects::Front;

/// Connections open at a time; more wait.
pub const CONNECTIONS_MAX: usize = 512;

/// The access key that requests must be signed with.
#[derive(Clone)]
pub struct S3Credentials {
    /// Access key id.
    pub access_key: String,
    /// Secret access key.
    pub secret_key: String,
}

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
pub enum S3ServerError {
    /// Only this machine may talk to a simulator.
    #[error("the simulated S3 server listens on loopback only, not on {address}: use 127.0.0.1")]
    NotLoopback {
        /// What was asked for.
        address: SocketAddr,
    },
    /// The address can't be used.
    #[error("the simulated S3 server can't listen on {address}: {source}; use another port, or 0 for any")]
    Listen {
        /// What was asked for.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
}

/// A server that runs until it is dropped.
pub struct S3Server {
    address: SocketAddr,
    faults: Arc<S3Faults>,
    task: JoinHandle<()>,
}

impl S3Server {
    /// Serves a store on a loopback address (port 0: any free one). `faults` decides what goes wrong in front of it.
    ///
    /// # Errors
    /// [`S3ServerError`]: not loopback, or the port is taken.
    pub async fn start(
        store: Arc<dyn Store>,
        address: SocketAddr,
        credentials: &S3Credentials,
        faults: Arc<S3Faults>,
    ) -> Result<Self, S3ServerError> {
        if !address.ip().is_loopback() {
            return Err(S3ServerError::NotLoopback { address });
        }
        let listen = |source| S3ServerError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let mut builder = S3ServiceBuilder::new(Front::new(store));
        builder.set_auth(OneKey(credentials.clone()));
        let task = tokio::spawn(accept(listener, builder.build(), Arc::clone(&faults)));
        Ok(Self { address, faults, task })
    }

    /// Where it can be reached, e.g. `http://127.0.0.1:9000`. Buckets are the first part of the path.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What goes wrong.
    pub fn faults(&self) -> &Arc<S3Faults> {
        &self.faults
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Takes connections for ever; dropping this closes them all.
async fn accept(listener: TcpListener, service: S3Service, faults: Arc<S3Faults>) {
    let mut connections = JoinSet::new();
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        // The semaphore is never closed; without a place there is nothing to accept.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let (service, faults) = (service.clone(), Arc::clone(&faults));
                connections.spawn(async move {
                    serve(stream, service, faults).await;
                    drop(place);
                });
            }
            Err(error) => tracing::warn!(%error, "the simulated S3 server could not accept a connection"),
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, service: S3Service, faults: Arc<S3Faults>) {
    // Without it each small answer may wait 40 ms for the client's acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    let handle = service_fn(move |request: http::Request<hyper::body::Incoming>| {
        let (service, faults) = (service.clone(), Arc::clone(&faults));
        async move { faults.serve(service, request.map(s3s::Body::from)).await }
    });
    let connection = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), handle);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection of the simulated S3 server ended");
    }
}

/// One pair of keys; any other is refused with the code that S3 gives.
struct OneKey(S3Credentials);

#[async_trait::async_trait]
impl S3Auth for OneKey {
    async fn get_secret_key(&self, access_key: &str) -> s3s::S3Result<SecretKey> {
        if access_key == self.0.access_key {
            Ok(SecretKey::from(self.0.secret_key.as_str()))
        } else {
            Err(s3s::s3_error!(InvalidAccessKeyId))
        }
    }
}
