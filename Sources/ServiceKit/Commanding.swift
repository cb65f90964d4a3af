/// A service with subcommands of its own.
package protocol Commanding: Service {
  /// The subcommands, for the service's operator and for its users (`wallet …`).
  static var commands: [any Command.Type] { get }
}
