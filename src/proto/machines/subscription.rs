//! A subscription (MCP 2026-07-28, *Subscriptions*): what was granted, what the application is told of it, which is that it
//! never broke, and how often in a row it was made again in vain.

use crate::proto::jsonrpc::{elements, field, Id};

/// The method of its request.
pub(crate) const LISTEN: &str = "subscriptions/listen";
/// The first word on its stream.
pub(crate) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// The member of `_meta` by which its messages name it.
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// What there are lists of.
const LISTS: [&str; 3] = ["tools", "prompts", "resources"];

/// One subscription, whatever streams carry it.
#[derive(Debug, Default)]
pub(crate) struct Subscription {
    /// What the server granted at first, as JSON text; `None` until it did.
    granted: Option<String>,
    /// A message came on the stream that is open.
    open: bool,
    /// How often in a row it was made again and brought nothing.
    pub(crate) barren: u32,
}

impl Subscription {
    /// Whether the server acknowledged it, on this stream or an earlier one.
    pub(crate) fn was_acknowledged(&self) -> bool {
        self.granted.is_some()
    }

    /// A message came on its stream: whether that is news.
    pub(crate) fn opens(&mut self) -> bool {
        !std::mem::replace(&mut self.open, true)
    }

    /// Its stream is over: whether it had been open.
    pub(crate) fn closes(&mut self) -> bool {
        std::mem::take(&mut self.open)
    }

    /// The server acknowledges it with this message: whether the application is told, which is so once.
    pub(crate) fn acknowledged(&mut self, message: &str) -> bool {
        let is_first = self.granted.is_none();
        if is_first {
            let granted = field(message, &["params", "notifications"]);
            self.granted = Some(granted.unwrap_or("{}").to_string());
        }
        is_first
    }

    /// What may have happened while it was not carried: a notification for each thing that was granted. `id`: what the
    /// application knows it by.
    pub(crate) fn missed(&self, id: &Id) -> Vec<String> {
        let granted = self.granted.as_deref().unwrap_or_default();
        let meta = format!("\"_meta\":{{\"{SUBSCRIPTION_ID}\":{}}}", id.text());
        let told = |method: &str, params: &str| {
            format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{method}\",\"params\":{{{params}{meta}}}}}"
            )
        };
        let is_granted = |list: &&str| field(granted, &[&format!("{list}ListChanged")]) == Some("true");
        let lists =
            LISTS.into_iter().filter(is_granted).map(|list| told(&format!("{list}/list_changed"), ""));
        let uris = elements(field(granted, &["resourceSubscriptions"]).unwrap_or_default());
        let resources = uris.into_iter().map(|uri| told("resources/updated", &format!("\"uri\":{uri},")));
        lists.chain(resources).collect()
    }
}

/// What a session of ours subscribes to: the changes that the server offers to tell, and these resources (URIs as JSON
/// texts). `None`: there is nothing.
pub(crate) fn wishes<'a>(capabilities: &str, uris: impl Iterator<Item = &'a str>) -> Option<String> {
    let offers = |list: &&str| field(capabilities, &[list, "listChanged"]) == Some("true");
    let mut wishes: Vec<String> =
        LISTS.into_iter().filter(offers).map(|list| format!("\"{list}ListChanged\":true")).collect();
    let uris: Vec<&str> = uris.collect();
    if !uris.is_empty() && field(capabilities, &["resources", "subscribe"]) == Some("true") {
        wishes.push(format!("\"resourceSubscriptions\":[{}]", uris.join(",")));
    }
    (!wishes.is_empty()).then(|| format!("{{\"notifications\":{{{}}}}}", wishes.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_acknowledged_once_and_then_tells_what_may_have_been_missed() {
        let mut subscription = Subscription::default();
        assert!(!subscription.was_acknowledged() && subscription.missed(&Id::Null).is_empty());
        let granted = r#"{"params":{"notifications":{"toolsListChanged":true,"promptsListChanged":false,"resourceSubscriptions":["a:b"]}}}"#;
        assert!(subscription.acknowledged(granted) && subscription.was_acknowledged());
        assert!(!subscription.acknowledged("{}"));
        let missed = subscription.missed(&Id::Number("7".to_string()));
        let meta = r#""_meta":{"io.modelcontextprotocol/subscriptionId":7}"#;
        let told = |method: &str, params: &str| {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{{params}{meta}}}}}"#)
        };
        let expected = [told("tools/list_changed", ""), told("resources/updated", "\"uri\":\"a:b\",")];
        assert_eq!(missed, expected);
    }

    #[test]
    fn each_stream_opens_and_closes_once() {
        let mut subscription = Subscription::default();
        assert!(!subscription.closes());
        assert!(subscription.opens() && !subscription.opens());
        assert!(subscription.closes() && !subscription.closes());
    }

    #[test]
    fn a_session_wants_what_the_server_offers() {
        let none = || [].into_iter();
        let all = r#"{"tools":{"listChanged":true},"prompts":{},"resources":{"listChanged":true,"subscribe":true}}"#;
        assert_eq!(
            wishes(all, none()).as_deref(),
            Some(r#"{"notifications":{"toolsListChanged":true,"resourcesListChanged":true}}"#)
        );
        let uris = || [r#""a:b""#, r#""c:d""#].into_iter();
        assert!(
            wishes(all, uris()).is_some_and(|text| text.contains(r#""resourceSubscriptions":["a:b","c:d"]"#))
        );
        for nothing in ["", "{}", r#"{"tools":{}}"#, r#"{"tools":{"listChanged":false},"resources":{}}"#] {
            assert_eq!(wishes(nothing, uris()), None, "{nothing}");
        }
    }
}
