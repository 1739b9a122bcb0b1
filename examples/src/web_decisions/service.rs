//! The service: routes, and a store in memory.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::SystemTime,
};

use axum::{
    Json, Router,
    extract::{Path, Request, State},
    http::{StatusCode, header::AUTHORIZATION},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use ralph_core::{Answer, Decision, DecisionId};
use tokio::sync::oneshot;

use super::{
    desk::{Pending, Said},
    sink::Close,
};

/// Who may do what.
#[derive(Clone)]
pub struct Tokens {
    asks: Arc<str>,
    answers: Arc<str>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").finish_non_exhaustive()
    }
}

impl Tokens {
    /// The run has the token `asks`, people have the token `answers`; neither is of use to the other.
    pub fn new(asks: &str, answers: &str) -> Self {
        Self { asks: asks.into(), answers: answers.into() }
    }
}

/// A question, and what became of it.
#[derive(Debug)]
struct Row {
    decision: Decision,
    answer: Option<Answer>,
    /// Why it was taken back.
    closed: Option<String>,
}

impl Row {
    fn waits(&self) -> bool {
        self.answer.is_none() && self.closed.is_none()
    }
}

/// The questions in the order of their ids, which therefore are never used twice.
#[derive(Clone, Debug, Default)]
struct Store(Arc<Mutex<Vec<Row>>>);

impl Store {
    fn rows(&self) -> MutexGuard<'_, Vec<Row>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn id(index: usize) -> DecisionId {
    DecisionId::new(format!("web-{}", index + 1))
}

/// The service at work, on a thread of its own as a stand-in for another machine. It ends when this is dropped.
#[derive(Debug)]
pub struct Service {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Service {
    /// Begins to listen on a free port of the loopback address.
    ///
    /// # Errors
    /// There is no port, or no runtime.
    pub fn start(tokens: Tokens) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = axum::serve(listener, routes(tokens)) => {}
                    _ = stopped => {}
                }
            });
        });
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // The other end is gone where the service ended by itself.
        let _ = self.stop.take().map(|stop| stop.send(()));
        if let Some(Err(panic)) = self.thread.take().map(thread::JoinHandle::join)
            && !thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

fn routes(Tokens { asks, answers: people }: Tokens) -> Router {
    let asking = Router::new()
        .route("/decisions", post(submit))
        .route("/answers", post(answers))
        .route("/close", post(close))
        .route_layer(from_fn_with_state(asks, only));
    let answering = Router::new()
        .route("/decisions/pending", get(pending))
        .route("/decisions/{id}/answer", post(answer))
        .route_layer(from_fn_with_state(people, only));
    asking.merge(answering).with_state(Store::default())
}

/// Lets nobody through but who has the token.
async fn only(State(token): State<Arc<str>>, request: Request, next: Next) -> Response {
    let given = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    if given.and_then(|given| given.strip_prefix("Bearer ")) == Some(&*token) {
        return next.run(request).await;
    }
    (StatusCode::UNAUTHORIZED, "this token does not allow that").into_response()
}

/// A step that asks again gets the id that it got before, so that a crash asks nobody twice.
async fn submit(State(store): State<Store>, Json(decision): Json<Decision>) -> Json<DecisionId> {
    let mut rows = store.rows();
    let known = rows.iter().position(|row| row.decision.key == decision.key);
    let index = known.unwrap_or_else(|| {
        rows.push(Row { decision, answer: None, closed: None });
        rows.len() - 1
    });
    Json(id(index))
}

async fn answers(State(store): State<Store>, Json(ids): Json<Vec<DecisionId>>) -> Json<Vec<Answer>> {
    let rows = store.rows();
    let given = rows.iter().filter_map(|row| row.answer.clone());
    Json(given.filter(|answer| ids.contains(&answer.decision)).collect())
}

/// What is answered stays answered; what is not known has nothing to close.
async fn close(State(store): State<Store>, Json(close): Json<Close>) -> Json<()> {
    let mut rows = store.rows();
    let found = rows.iter_mut().enumerate().find(|(index, row)| id(*index) == close.id && row.waits());
    if let Some((_, row)) = found {
        row.closed = Some(close.why);
    }
    Json(())
}

/// The most urgent first.
async fn pending(State(store): State<Store>) -> Json<Vec<Pending>> {
    let rows = store.rows();
    let waiting = rows.iter().enumerate().filter(|(_, row)| row.waits());
    let mut waiting: Vec<_> =
        waiting.map(|(index, row)| Pending { id: id(index), decision: row.decision.clone() }).collect();
    let now = SystemTime::now();
    waiting.sort_by_key(|pending| std::cmp::Reverse(pending.decision.priority(now)));
    Json(waiting)
}

async fn answer(
    State(store): State<Store>,
    Path(asked): Path<DecisionId>,
    Json(Said { said, by }): Json<Said>,
) -> Result<Json<Answer>, (StatusCode, String)> {
    let mut rows = store.rows();
    let Some((_, row)) = rows.iter_mut().enumerate().find(|(index, _)| id(*index) == asked) else {
        return Err((StatusCode::NOT_FOUND, format!("there is no question {asked}")));
    };
    if !row.waits() {
        return Err((StatusCode::CONFLICT, format!("{asked} waits no longer")));
    }
    let reply = row.decision.question.reply(&said);
    let reply = reply.map_err(|error| (StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))?;
    let answer = Answer::new(asked, reply, by, SystemTime::now());
    row.answer = Some(answer.clone());
    Ok(Json(answer))
}
