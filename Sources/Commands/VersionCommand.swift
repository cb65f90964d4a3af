internal import ServiceKit

/// `awd version`.
struct VersionCommand: Command {
  static let name = "version"
  static let summary = "Print the version"
  static let parameters = [CommandParameter.json]

  static func run(_ context: CommandContext) async throws {
    try context.print(json: ["name": Product.name, "version": Product.version]) {
      context.print("\(Product.name) \(Product.version)")
    }
  }
}
