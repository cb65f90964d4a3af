package import Storage

/// A service with tables in the store.
package protocol Migrating: Service {
  /// The history of the service's own tables, and of the libraries' that it uses, in the order of its needs.
  static var migrations: [Migration] { get }
}

extension Sequence where Element == any Service.Type {
  /// The histories of all services' tables, with each step once.
  package var migrations: [Migration] {
    var known: Set<String> = []
    return flatMap { ($0 as? any Migrating.Type)?.migrations ?? [] }
      .filter { known.insert("\($0.owner) \($0.number)").inserted }
  }
}
