package import Ethereum
package import HTTPClient
internal import HTTPProtocol

extension OutgoingRequest {
  /// Makes the request for a batch of calls.
  ///
  /// - Parameters:
  ///   - batch: the calls.
  ///   - endpoint: the URL of a chain's endpoint for JSON-RPC.
  package init(_ batch: CallBatch, to endpoint: String) {
    self.init(.post, endpoint, body: batch.body)
    fields.append(.contentType, "application/json")
  }
}
