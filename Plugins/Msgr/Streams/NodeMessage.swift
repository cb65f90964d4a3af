internal import Cryptography
internal import Cluster

/// A message from node to node about a user, beside new messages.
enum NodeMessage: Hashable, Sendable {
  /// Tokens of the user have ended.
  case ended([TokenHash])
  /// The user has read everything up to a message, whose sender the store knows, on a device.
  case read(upTo: MessageID, on: DeviceID?)
  /// A login failed.
  case failure(network: String?, isFamiliar: Bool)

  /// The most tokens of one notice.
  static let tokensAtOnce = 16

  /// The bytes of a notice. The first differs from all of ``NoticeKind``.
  var bytes: [UInt8] {
    switch self {
    case .ended(let tokens): [1] + tokens.flatMap(\.digest.bytes)
    case .read(let last, let device):
      [2] + NoticeKind.bytes(last.rawValue) + Array((device?.text ?? "").utf8)
    case .failure(let network, let isFamiliar):
      [3, isFamiliar ? 1 : 0] + Array((network ?? "").utf8)
    }
  }

  /// Reads the bytes of a notice; nil if they are none of the service's.
  init?(_ bytes: [UInt8]) {
    let rest = bytes.dropFirst()
    switch bytes.first {
    case 1 where rest.count.isMultiple(of: 32):
      self = .ended(
        stride(from: rest.startIndex, to: rest.endIndex, by: 32).compactMap {
          TokenHash(rest[$0..<$0 + 32])
        })
    case 2:
      guard let last = NoticeKind.number(rest.prefix(8)) else { return nil }
      let device = String(decoding: rest.dropFirst(8), as: UTF8.self)
      self = .read(
        upTo: MessageID(rawValue: max(last, 0)), on: device.isEmpty ? nil : DeviceID(stored: device)
      )
    case 3:
      guard let isFamiliar = rest.first, isFamiliar <= 1 else { return nil }
      let network = String(decoding: rest.dropFirst(), as: UTF8.self)
      self = .failure(network: network.isEmpty ? nil : network, isFamiliar: isFamiliar == 1)
    default: return nil
    }
  }
}
