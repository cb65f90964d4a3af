internal import CommandLine
internal import FoundationEssentials
internal import HTTPClient
internal import HTTPProtocol

/// The requests of commands to a repository.
struct RepositoryExchange {
  private let client: HTTPClient

  /// Makes connections of its own.
  ///
  /// - Throws: ``CommandError`` if there is no room for them.
  init() throws(CommandError) {
    var options = HTTPClientOptions()
    options.bodyLimit = VerificationQueue.bodyLimit
    do throws(HTTPClientError) { client = try HTTPClient(options) } catch {
      throw .refused("\(error)")
    }
  }

  /// Sends a request, and asks for JSON.
  ///
  /// - Throws: ``CommandError`` if there is no response.
  func send(_ request: OutgoingRequest) async throws(CommandError) -> IncomingResponse {
    var request = request
    request.fields.append(.accept, "application/json")
    do throws(HTTPClientError) { return try await client.send(request) } catch {
      throw .refused("\(request.url): \(error)".printable)
    }
  }

  /// Returns the status of a response, and its reason if it states one.
  static func words(_ response: IncomingResponse) -> String {
    let body = try? JSONDecoder().decode(Refusal.self, from: Data(response.body))
    let known = body?.known.map {
      $0.isEmpty ? "; nobody does yet" : "; these do: \($0.joined(separator: ", "))"
    }
    return "\(response.status.code) \(response.status.reason)"
      + (body.map { ": \($0.error)" } ?? "") + (known ?? "")
  }

  private struct Refusal: Decodable {
    let error: String
    let known: [String]?
  }
}
