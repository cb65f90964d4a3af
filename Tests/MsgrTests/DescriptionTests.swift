internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing

@testable import Msgr
@testable import Routing

@Suite struct DescriptionTests {
  @Test func namesEveryRouteAndNoOther() async throws {
    var router = Router(service: MsgrService.name)
    try await Fixture("web = false\n").service.register(on: &router)
    // What finds nothing is no request.
    let routes = Set(
      router.routes.filter { !$0.pattern.text.contains("{rest...}") }
        .map { "\($0.method.name) \($0.pattern.text)" })
    let described = Set(
      Description().paths.flatMap { path, operations in
        operations.keys.map { "\($0.uppercased()) \(path)" }
      })
    // Each path answers at both of the servers that the description names, but for those about topics, whose names the root has.
    let atRoot = described.filter { !$0.contains(" /topics") }
    #expect(routes == atRoot.union(described.map { $0.replacing(" /", with: " /msgr/") }))
  }

  @Test func isServed() async throws {
    let response = try await Fixture().request(.get, "/openapi.json")
    #expect(response.status == 200)
    #expect(response.object["openapi"] as? String == "3.1.0")
  }

  @Test func namesEveryField() throws {
    let schemas = (Description().document["components"] as? [String: Any])?["schemas"]
    let fault = (schemas as? [String: [String: Any]])?["Fault"]
    let properties = fault?["properties"] as? [String: [String: Any]]
    let names = try #require(properties?["field"]?["enum"] as? [String])
    #expect(Set(names) == Set(FieldID.allCases.map(\.rawValue)))
  }
}
