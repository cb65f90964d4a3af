internal import Fuzzing
internal import Platform

@testable import Apptimist

/// Takes these bytes as Graph's JSON about a token: only a reply that names the user and the app confirms it.
@main enum GraphReplyFuzzer: Fuzzer {
  static func test(_ bytes: [UInt8]) {
    let now = Timestamp(seconds: 1_700_000_000)
    let confirms = GraphClient.confirms(bytes, uid: "4711", appID: "815", now: now)
    precondition(GraphClient.confirms(bytes, uid: "4711", appID: "815", now: now) == confirms)
    guard confirms else { return }
    precondition(!GraphClient.confirms(bytes, uid: "4712", appID: "815", now: now))
    precondition(!GraphClient.confirms(bytes, uid: "4711", appID: "816", now: now))
  }
}
