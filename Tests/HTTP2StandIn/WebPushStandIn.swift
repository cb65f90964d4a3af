internal import TestSupport
internal import Platform

/// A stand-in for a push service of browsers, which responds by a script and records what comes.
package final class WebPushStandIn: Sendable {
  private final class Record: Sendable {
    let requests = Lock<[StandInRequest]>([])
  }

  private let record: Record
  private let server: HTTP2StandIn

  /// - Parameters:
  ///   - script: the first responses, in order.
  ///   - otherwise: the response to what comes afterwards.
  package init(
    _ script: [StandInResponse] = [], otherwise: StandInResponse = .respond(201)
  ) throws {
    let record = Record()
    let certificates = try TestCertificates.shared.get()
    self.record = record
    server = try HTTP2StandIn(
      certificate: certificates.server.certificate, key: certificates.server.key, clientCA: nil
    ) { request in
      record.requests.withLock { requests in
        requests.append(request)
        return requests.count <= script.count ? script[requests.count - 1] : otherwise
      }
    }
  }

  /// The requests that came, in order.
  package var received: [StandInRequest] { record.requests.withLock { $0 } }
  /// The number of connections that came.
  package var connections: Int { server.connections }
  /// The host and port that it listens on.
  package var authority: String { "127.0.0.1:\(server.port)" }
  /// The URL of a subscription.
  package var endpoint: String { "https://\(authority)/push/1?x=y" }
}
