//! Walks through an account-exists conflict, an error, a refresh and the events, next to deploy/run.

use latchkey::{
    account_service_client::AccountServiceClient, auth_service_client::AuthServiceClient, create_response,
    credential::Kind, event_service_client::EventServiceClient, fetch_providers_request::Subject, link_response,
    session_service_client::SessionServiceClient, sign_in_response, CreateRequest, Credential, Event, EventType,
    FetchProvidersRequest, LinkRequest, PasswordCredential, ProviderTokenCredential, RefreshRequest, Session,
    SignInRequest, WatchRequest,
};
use std::collections::HashSet;
use std::error::Error;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs};
use tokio::{sync::Mutex, task::JoinSet, time::sleep};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::{interceptor::InterceptedService, Interceptor};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Status};
use tonic_types::StatusExt;
use uuid::Uuid;

pub mod latchkey {
    tonic::include_proto!("latchkey.v1");
}

type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;
type Web = InterceptedService<Channel, ApiKey>;

/// Adds the API key and a deadline to each call, because tonic reads no service configuration.
#[derive(Clone)]
struct ApiKey(MetadataValue<Ascii>);

impl Interceptor for ApiKey {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        request.set_timeout(Duration::from_secs(30));
        Ok(request)
    }
}

fn home(name: &str) -> Fallible<String> {
    let folder = env::var("LATCHKEY_HOME").unwrap_or(".latchkey".into());
    Ok(fs::read_to_string(format!("{folder}/{name}"))?)
}

fn connect(identity: Option<Identity>) -> Fallible<Channel> {
    let server = env::var("LATCHKEY_SERVER").unwrap_or("localhost:8443".into());
    let mut tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(home("authority.pem")?));
    if let Some(identity) = identity {
        tls = tls.identity(identity);
    }
    Ok(Endpoint::from_shared(format!("https://{server}"))?.tls_config(tls)?.connect_lazy())
}

fn random() -> String {
    Uuid::new_v4().to_string()
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64
}

/// One user's session.
struct Held {
    session: Session,
    /// The idempotency key of the next refresh. A repeat after a lost response needs the same key.
    key: String,
}

/// Keeps one user's session. One refresh runs at a time.
struct SessionHolder {
    service: SessionServiceClient<Web>,
    held: Mutex<Held>,
}

impl SessionHolder {
    async fn id_token(&self) -> Fallible<String> {
        let mut held = self.held.lock().await;
        if held.session.id_token_expires_at.as_ref().map_or(0, |time| time.seconds) - now() < 300 {
            let request = RefreshRequest {
                refresh_token: held.session.refresh_token.clone(),
                idempotency_key: held.key.clone(),
                ..Default::default()
            };
            let session = self.service.clone().refresh(request).await?.into_inner().session.ok_or("no session")?;
            *held = Held { session, key: random() }; // Store both here.
        }
        Ok(held.session.id_token.clone())
    }
}

/// Returns the cursor of the wanted event. Calls again with the last cursor when the connection ends.
async fn watch(mut cursor: String, wanted: impl Fn(&Event) -> bool) -> Fallible<String> {
    let identity = Identity::from_pem(home("admin.pem")?, home("admin.key")?);
    let mut events = EventServiceClient::new(connect(Some(identity))?);
    loop {
        match follow(&mut events, &mut cursor, &wanted).await {
            Ok(true) => return Ok(cursor),
            // A lost connection has another code than UNAVAILABLE in tonic, but it has a source.
            Err(status) if status.code() != Code::Unavailable && status.source().is_none() => return Err(status.into()),
            _ => sleep(Duration::from_secs(1)).await,
        }
    }
}

async fn follow(
    events: &mut EventServiceClient<Channel>,
    cursor: &mut String,
    wanted: impl Fn(&Event) -> bool,
) -> Result<bool, Status> {
    let request = WatchRequest { cursor: cursor.clone(), ..Default::default() };
    let mut stream = events.watch(request).await?.into_inner();
    while let Some(response) = stream.message().await? {
        *cursor = response.cursor; // Store it here, after the event is processed.
        if wanted(&response.event.unwrap_or_default()) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn sign_in(kind: Kind) -> SignInRequest {
    let credential = Some(Credential { kind: Some(kind) });
    SignInRequest { credential, idempotency_key: random(), ..Default::default() }
}

fn session(outcome: Option<sign_in_response::Outcome>) -> Fallible<Session> {
    match outcome {
        Some(sign_in_response::Outcome::Session(session)) => Ok(session),
        _ => Err("not signed in".into()),
    }
}

#[tokio::main]
async fn main() -> Fallible<()> {
    let cursor = watch("now".into(), |_| true).await?;
    let key = ApiKey(format!("Bearer {}", home("web.apikey")?.trim()).parse()?);
    let web = connect(None)?;
    let mut auth = AuthServiceClient::with_interceptor(web.clone(), key.clone());
    let mut accounts = AccountServiceClient::with_interceptor(web.clone(), key.clone());

    let (person, password) = (random(), random());
    let email = format!("{person}@example.com");
    let request = CreateRequest {
        email: email.clone(),
        password: password.clone(),
        idempotency_key: random(),
        ..Default::default()
    };
    let outcome = accounts.create(request).await?.into_inner().outcome;
    let Some(create_response::Outcome::Session(created)) = outcome else {
        return Err("not created".into());
    };
    let created = created.account.unwrap_or_default().account_id;
    let mint = ["--issuer", "corp", "--subject", &person, "--email", &email];
    let id_token = String::from_utf8(Command::new("deploy/mint").args(mint).output()?.stdout)?.trim().to_string();
    let provider_id = "oidc.corp".to_string();
    let company = Kind::ProviderToken(ProviderTokenCredential { provider_id, id_token, ..Default::default() });
    let outcome = auth.sign_in(sign_in(company.clone())).await?.into_inner().outcome;
    let Some(sign_in_response::Outcome::AccountExists(conflict)) = outcome else {
        return Err("no conflict".into());
    };
    let pending = conflict.pending_token;
    let request = FetchProvidersRequest { subject: Some(Subject::PendingToken(pending.clone())), ..Default::default() };
    let ways = auth.fetch_providers(request).await?.into_inner().sign_in_methods;
    println!("conflict: the account has {}", ways.join(" "));
    let known = Kind::Password(PasswordCredential { email, password });
    let request = LinkRequest {
        id_token: session(auth.sign_in(sign_in(known)).await?.into_inner().outcome)?.id_token,
        credential: Some(Credential { kind: Some(Kind::PendingToken(pending)) }),
        idempotency_key: random(),
        ..Default::default()
    };
    let Some(link_response::Outcome::Session(mut linked)) = auth.link(request).await?.into_inner().outcome else {
        return Err("not linked".into());
    };
    let again = session(auth.sign_in(sign_in(company)).await?.into_inner().outcome)?.account.unwrap_or_default();
    assert_eq!(again.account_id, created);
    let providers: Vec<_> = again.providers.iter().map(|each| each.provider_id.as_str()).collect();
    println!("linked: {}", providers.join(" "));

    let wrong = Kind::Password(PasswordCredential { email: "not an address".into(), password: "secret".into() });
    let error = auth.sign_in(sign_in(wrong)).await.err().ok_or("signed in")?;
    let info = error.get_details_error_info().ok_or("no reason")?;
    println!("error: {} {}", info.reason, info.metadata["field"]);

    linked.id_token_expires_at = None; // As if it were about to expire.
    let holder = Arc::new(SessionHolder {
        service: SessionServiceClient::with_interceptor(web, key),
        held: Mutex::new(Held { session: linked, key: random() }),
    });
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let holder = holder.clone();
        tasks.spawn(async move { holder.id_token().await });
    }
    let mut tokens = HashSet::new();
    while let Some(token) = tasks.join_next().await {
        tokens.insert(token??);
    }
    assert_eq!(tokens.len(), 1);
    println!("refreshed: once for 8 tasks");

    watch(cursor, |event| event.r#type == EventType::Linked as i32 && event.account_id == created).await?;
    println!("events: LINKED after a new connection");
    Ok(())
}
