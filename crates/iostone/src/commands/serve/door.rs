//! Who is let in, and what every answer states about itself.
//!
//! A page elsewhere can make a browser send requests here, and a name of its own can be made to lead here (DNS rebinding). So the
//! `Host` must be the address that the connection came in by, whatever `Origin` says, and beyond loopback a token must be shown.

use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Body;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

/// What every answer states; pages add a policy that lets their own style and scripts in.
const STATED: [(HeaderName, &str); 7] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Bytes of a token.
const TOKEN_BYTES: usize = 16;

/// The address that is listened on, with the token that is needed there.
pub(super) struct Door {
    bound: SocketAddr,
    token: Option<String>,
}

impl Door {
    /// Loopback needs no token.
    pub(super) fn at(bound: SocketAddr) -> Result<Self> {
        let token = if bound.ip().to_canonical().is_loopback() { None } else { Some(random_token()?) };
        Ok(Self { bound, token })
    }

    /// What to open.
    pub(super) fn address(&self) -> String {
        let query = self.token.as_ref().map(|token| format!("?token={token}")).unwrap_or_default();
        format!("http://{}/{query}", self.bound)
    }

    /// Answers a request, or refuses it.
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        local: SocketAddr,
        router: Router,
    ) -> Response<Body> {
        let mut answer = match self.refusal(&request, local) {
            Some(refusal) => refusal,
            None => match TowerToHyperService::new(router).call(request).await {
                Ok(answer) => answer,
                Err(never) => match never {},
            },
        };
        let headers = answer.headers_mut();
        for (name, value) in STATED {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers
            .entry(header::CONTENT_SECURITY_POLICY)
            .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
        answer
    }

    fn refusal(&self, request: &Request<Incoming>, local: SocketAddr) -> Option<Response<Body>> {
        let refuse = |status, words: &'static str| Some(plain(status, words));
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return refuse(StatusCode::BAD_REQUEST, "one Host header is needed\n");
        };
        let named = request.uri().authority().map(Authority::as_str);
        let is_own = |host: &str| is_own(host, local);
        if !host.to_str().is_ok_and(is_own) || !named.is_none_or(is_own) {
            return refuse(
                StatusCode::MISDIRECTED_REQUEST,
                "this is no address of this server: open the one that `iostone serve` printed\n",
            );
        }
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            let mut refusal = plain(StatusCode::METHOD_NOT_ALLOWED, "this server only shows: GET and HEAD\n");
            refusal.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Some(refusal);
        }
        let token = self.token.as_ref()?;
        let query = request.uri().query().unwrap_or_default();
        let shown = query.split('&').filter_map(|part| part.strip_prefix("token="));
        // Every one is looked at, so that the time tells nothing of which.
        if shown.fold(false, |any, shown| any | is_same(shown, token)) {
            return Some(self.let_in(request, token));
        }
        if self.cookies(request.headers()).fold(false, |any, shown| any | is_same(shown, token)) {
            return None;
        }
        refuse(
            StatusCode::FORBIDDEN,
            "the address that `iostone serve` printed holds a token, which is needed here\n",
        )
    }

    /// The token goes into a cookie, and out of the address.
    fn let_in(&self, request: &Request<Incoming>, token: &str) -> Response<Body> {
        let rest: Vec<&str> = request
            .uri()
            .query()
            .unwrap_or_default()
            .split('&')
            .filter(|part| !part.starts_with("token="))
            .collect();
        let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
        // Two slashes at the beginning would lead to another host.
        let path = request.uri().path().trim_start_matches('/');
        let mut answer = plain(StatusCode::SEE_OTHER, "");
        let cookie = format!("{}={token}; Path=/; HttpOnly; SameSite=Lax", self.cookie_name());
        for (name, value) in [(header::LOCATION, format!("/{path}{query}")), (header::SET_COOKIE, cookie)] {
            if let Ok(value) = HeaderValue::try_from(value) {
                answer.headers_mut().insert(name, value);
            }
        }
        answer
    }

    /// Cookies are of a host whatever the port; another server's is not to be overwritten.
    fn cookie_name(&self) -> String {
        format!("iostone-{}", self.bound.port())
    }

    fn cookies<'a>(&self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
        let name = self.cookie_name();
        let all = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        all.flat_map(|value| value.split(';'))
            .filter_map(move |pair| pair.trim().strip_prefix(name.as_str())?.strip_prefix('='))
    }
}

/// An answer in a few words.
pub(super) fn plain(status: StatusCode, words: &'static str) -> Response<Body> {
    let mut answer = Response::new(Body::from(words));
    *answer.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}

/// Whether a host, as a request names it, is the address that the connection came in by. Names are nobody's but `localhost`.
fn is_own(host: &str, local: SocketAddr) -> bool {
    const USUAL_PORT: u16 = 80;
    let own = (local.ip().to_canonical(), local.port());
    if let Ok(named) = host.parse::<SocketAddr>() {
        return (named.ip().to_canonical(), named.port()) == own;
    }
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    if let Ok(named) = address.parse::<IpAddr>() {
        return (named.to_canonical(), USUAL_PORT) == own;
    }
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) => (name, port.parse().ok()),
        None => (host, Some(USUAL_PORT)),
    };
    name.eq_ignore_ascii_case("localhost") && port == Some(own.1) && own.0.is_loopback()
}

/// Compares without telling by its time how much is right.
fn is_same(shown: &str, token: &str) -> bool {
    let differing = shown.bytes().zip(token.bytes()).fold(0, |differing, (a, b)| differing | (a ^ b));
    shown.len() == token.len() && std::hint::black_box(differing) == 0
}

fn random_token() -> Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    let taken = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .context("drawing a token")?;
    anyhow::ensure!(taken == TOKEN_BYTES, "the kernel gave no random token");
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_own_where_the_connection_came_in_by_it() {
        let local = |text: &str| text.parse::<SocketAddr>().unwrap();
        for (host, at) in [
            ("127.0.0.1:7070", "127.0.0.1:7070"),
            ("localhost:7070", "127.0.0.1:7070"),
            ("LOCALHOST:7070", "[::1]:7070"),
            ("127.0.0.1", "127.0.0.1:80"),
            ("[::1]:7070", "[::1]:7070"),
            ("[::1]", "[::1]:80"),
            ("10.0.0.5:7070", "[::ffff:10.0.0.5]:7070"),
        ] {
            assert!(is_own(host, local(at)), "{host}");
        }
        for (host, at) in [
            ("", "127.0.0.1:7070"),
            ("127.0.0.1", "127.0.0.1:7070"),
            ("127.0.0.1:7071", "127.0.0.1:7070"),
            ("127.0.0.2:7070", "127.0.0.1:7070"),
            ("attacker.example:7070", "127.0.0.1:7070"),
            ("localhost.attacker.example:7070", "127.0.0.1:7070"),
            ("127.0.0.1.attacker.example:7070", "127.0.0.1:7070"),
            ("user@127.0.0.1:7070", "127.0.0.1:7070"),
            ("localhost:7070", "10.0.0.5:7070"),
        ] {
            assert!(!is_own(host, local(at)), "{host}");
        }
    }

    #[test]
    fn a_token_is_the_same_as_a_whole_only() {
        assert!(is_same("abc", "abc"));
        for wrong in ["", "ab", "abcd", "abd", "xbc"] {
            assert!(!is_same(wrong, "abc"), "{wrong}");
        }
    }
}
