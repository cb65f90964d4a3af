internal import MsgrResources
internal import Platform
internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing

@testable import Msgr

/// The service's OpenAPI description, read as a client's tool would.
final class Description: @unchecked Sendable {
  // Safe to share: nothing changes it.
  let document: [String: Any]

  init() {
    let data = Data(Resource(msgr_openapi_json()).bytes)
    document = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] ?? [:]
  }

  var paths: [String: [String: Any]] { document["paths"] as? [String: [String: Any]] ?? [:] }

  /// Records an issue unless the description allows a response.
  func check(_ response: TestResponse, to path: String) throws {
    var path = String(path.prefix { $0 != "?" })
    if path.hasPrefix("/msgr/") { path.removeFirst("/msgr".count) }
    // Wallets are not for all clients, and described in the guide.
    if ["/wallet-challenge", "/wallet-login", "/wallet", "/find"].contains(path) { return }
    // Gotify's clients get their own form.
    if path == "/message", response.object.keys.contains(where: ["appid", "errorCode"].contains) {
      return
    }
    let operation =
      paths[path.hasPrefix("/publish/") ? "/publish/{name}" : path]?["post"] as? [String: Any]
    let responses = try #require(operation?["responses"] as? [String: Any], "\(path)")
    let described = resolve(
      try #require(
        responses["\(response.status)"] as? [String: Any], "\(path) gives \(response.status)"))
    let content = described["content"] as? [String: [String: Any]] ?? [:]
    let schema = try #require(content["application/json"]?["schema"] as? [String: Any])
    #expect(response.fields.first(.contentType) == "application/json")
    #expect(response.fields.first(.cacheControl) == "no-store")
    let json = try #require(response.json, "\(path) gives no JSON")
    #expect(faults(of: json, schema) == [], "\(path)")
    for name in (described["headers"] as? [String: Any] ?? [:]).keys {
      #expect(response.fields.pairs.contains { $0.name == name }, "\(path) lacks \(name)")
    }
  }

  private func resolve(_ node: [String: Any]) -> [String: Any] {
    guard let reference = node["$ref"] as? String else { return node }
    let steps = reference.split(separator: "/").dropFirst()
    var found: Any? = document
    for step in steps { found = (found as? [String: Any])?[String(step)] }
    return found as? [String: Any] ?? [:]
  }

  /// Returns the faults of a value by a schema, as far as the description uses the keywords.
  private func faults(of value: Any, _ schema: [String: Any], at place: String = "$") -> [String] {
    let schema = resolve(schema)
    var faults: [String] = []
    switch schema["type"] as? String {
    case "object":
      guard let object = value as? [String: Any] else { return ["\(place): no object"] }
      let properties = schema["properties"] as? [String: [String: Any]] ?? [:]
      for name in schema["required"] as? [String] ?? [] where object[name] == nil {
        faults.append("\(place): lacks \(name)")
      }
      for (name, member) in object {
        if let property = properties[name] {
          faults += self.faults(of: member, property, at: "\(place).\(name)")
        } else if schema["additionalProperties"] as? Bool == false {
          faults.append("\(place): has \(name)")
        }
      }
    case "array":
      guard let array = value as? [Any] else { return ["\(place): no array"] }
      if let most = schema["maxItems"] as? Int, array.count > most {
        faults.append("\(place): too many")
      }
      for element in array {
        faults += self.faults(of: element, schema["items"] as? [String: Any] ?? [:], at: place)
      }
    case "string":
      guard let text = value as? String else { return ["\(place): no string"] }
      if let pattern = schema["pattern"] as? String,
        text.range(of: pattern, options: .regularExpression) == nil
      {
        faults.append("\(place): \(text) is not \(pattern)")
      }
    default: break
    }
    if let names = schema["enum"] as? [String], !names.contains(value as? String ?? "") {
      faults.append("\(place): none of \(names)")
    }
    if let truth = schema["const"] as? Bool, truth != value as? Bool {
      faults.append("\(place): not \(truth)")
    }
    return faults
  }
}
