internal import Bus
internal import Cryptography
internal import MsgrProtocol

/// A notice between nodes about users and their sessions.
enum NodeNews: Hashable, Sendable {
  /// A user's log has new messages.
  case log(UserName)
  /// Tokens have ended.
  case ended([TokenHash])
  /// A user's streams are to show a notice, but for those of a device.
  case notice(UserName, [UInt8], besides: DeviceID?)
  /// A login failed.
  case failure(FailedLogins.Failure)

  /// The most tokens of one notice.
  static let tokensAtOnce = 16

  /// Makes a notice.
  var notice: Notice {
    switch self {
    case .log(let name): Notice(Topic(MsgrService.name, Array(name.text.utf8)), [0])
    case .ended(let tokens):
      Notice(Topic(MsgrService.name), [1] + tokens.flatMap(\.digest.bytes))
    case .notice(let name, let text, let device):
      Notice(
        Topic(MsgrService.name, Array(name.text.utf8)),
        [2] + Array((device?.text ?? "").utf8) + [0] + text)
    case .failure(let failure):
      Notice(
        Topic(MsgrService.name, Array(failure.name.text.utf8)),
        [3, failure.isFamiliar ? 1 : 0] + Array((failure.network ?? "").utf8))
    }
  }

  /// Reads a notice; nil if it is none of the service's.
  init?(_ notice: Notice) {
    guard let kind = notice.content.first else { return nil }
    let name = UserName(stored: String(decoding: notice.topic.key, as: UTF8.self))
    let rest = notice.content.dropFirst()
    switch kind {
    case 0 where rest.isEmpty: self = .log(name)
    case 1 where rest.count.isMultiple(of: 32):
      let hashes = stride(from: rest.startIndex, to: rest.endIndex, by: 32).compactMap { start in
        SHA256.Digest(rest[start..<start + 32]).map(TokenHash.init(digest:))
      }
      self = .ended(hashes)
    case 2:
      guard let end = rest.firstIndex(of: 0) else { return nil }
      let device = String(decoding: rest[..<end], as: UTF8.self)
      self = .notice(
        name, Array(rest[(end + 1)...]), besides: device.isEmpty ? nil : DeviceID(stored: device))
    case 3:
      guard let isFamiliar = rest.first, isFamiliar <= 1 else { return nil }
      let network = String(decoding: rest.dropFirst(), as: UTF8.self)
      self = .failure(
        FailedLogins.Failure(
          name: name, network: network.isEmpty ? nil : network, isFamiliar: isFamiliar == 1))
    default: return nil
    }
  }
}
