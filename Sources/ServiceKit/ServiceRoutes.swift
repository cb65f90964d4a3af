/// What the services' routes begin with. It is known whatever runs, so that no name changes its meaning when a service is
/// switched on.
package enum ServiceRoutes {
  /// The first segments of the paths of all services and of the program's own.
  package static let firstSegments: Set<String> = [
    "register", "login", "logout", "password", "sessions", "export", "friends", "contacts", "add",
    "unfriend", "block", "unblock", "delete", "message", "inbox", "stream", "history", "read",
    "subscribe", "unsubscribe", "push-key", "tokens", "publish", "msgr", "siren", "siwe",
    "tokenscript", "contracts", "token-view", "preview", "clients", "healthz", "readyz", "metrics",
    "version", "debug", "status",
  ]
}
