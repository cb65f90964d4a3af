internal import ServiceKit
internal import Configuration
internal import FoundationEssentials
internal import HTTPClient
internal import HTTPProtocol

/// The requests of commands to a repository.
struct RepositoryExchange {
  private let client: WebClient

  /// Makes connections of its own.
  ///
  /// - Throws: ``CommandError`` if there is no room for them.
  init() throws(CommandError) {
    var options = HTTPClientOptions()
    options.bodyLimit = VerificationQueue.bodyLimit
    do throws(HTTPClientError) { client = try WebClient(options) } catch {
      throw .refused("\(error)")
    }
  }

  /// Returns the repository that the option `--to` names.
  ///
  /// - Throws: ``CommandError`` without it, or for another text.
  static func url(_ arguments: CommandArguments) throws(CommandError) -> PublicURL {
    guard let url = try arguments.url("to", such: "https://repo.example") else {
      throw .usage("--to URL is missing")
    }
    return url
  }

  /// Sends a request, and asks for JSON.
  ///
  /// - Parameters:
  ///   - url: the URL in errors, or nil for the request's.
  /// - Throws: ``CommandError`` if there is no response, or one with another status.
  func send(
    _ request: OutgoingRequest, expecting expected: Status..., as url: String? = nil,
    remark: String = ""
  ) async throws(CommandError) -> IncomingResponse {
    var request = request
    request.fields.append(.accept, "application/json")
    let response: IncomingResponse
    do throws(HTTPClientError) { response = try await client.send(request) } catch {
      throw .refused("\(request.url): \(error)".printable)
    }
    guard expected.contains(response.status) else {
      throw .refused("\(url ?? request.url): \(Self.words(response))\(remark)".printable)
    }
    return response
  }

  /// Returns the status of a response, and its reason if it states one.
  private static func words(_ response: IncomingResponse) -> String {
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
