internal import FoundationEssentials
internal import Storage

/// Notices as text: the node's number on the first line, and on each other one a service, a key and a content, the latter
/// two in base64.
enum NoticeText {
  /// The most bytes of a text: PostgreSQL carries less than 8,000.
  private static let limit = 7_900

  /// Writes notices into as few texts as they fit in.
  ///
  /// - Parameters:
  ///   - notices: the notices, in order; what is longer than ``Notice/limit`` is left out.
  ///   - node: the node that they are from.
  static func texts(of notices: [Notice], from node: NodeID) -> [String] {
    var texts: [String] = []
    var text = "\(node)"
    for notice in notices where notice.topic.key.count + notice.content.count <= Notice.limit {
      let line =
        "\n\(notice.topic.service) \(base64(notice.topic.key)) \(base64(notice.content))"
      if text.utf8.count + line.utf8.count > limit {
        texts.append(text)
        text = "\(node)"
      }
      text += line
    }
    return text.utf8.contains(UInt8(ascii: "\n")) ? texts + [text] : texts
  }

  /// Reads a text of another node's.
  ///
  /// - Returns: the notices; none of a text that is this node's own, and nil if it is none.
  static func notices(in text: String, except node: NodeID) -> [Notice]? {
    // Most are this node's own where there is no other.
    if text.hasPrefix("\(node)\n") { return [] }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard Int64(lines[0], radix: 16) != nil else { return nil }
    var notices: [Notice] = []
    for line in lines.dropFirst() {
      let fields = line.split(separator: " ", omittingEmptySubsequences: false)
      guard fields.count == 3, let key = Data(base64Encoded: String(fields[1])),
        let content = Data(base64Encoded: String(fields[2]))
      else { return nil }
      notices.append(Notice(Topic(String(fields[0]), [UInt8](key)), [UInt8](content)))
    }
    return notices
  }

  private static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
}
