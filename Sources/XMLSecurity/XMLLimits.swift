/// The limits of a document, which are checked while it is read.
///
/// Besides the size these are counts in which libxml2 and canonicalization are quadratic, or which they multiply. Without
/// them a file of a few megabytes could keep a core busy for minutes.
public struct XMLLimits: Sendable, Hashable {
  /// The size of the file in bytes.
  public var bytes: Int
  /// The number of levels of elements, the root's included.
  public var depth: Int
  /// The number of attributes and namespace declarations of one element.
  public var attributes: Int
  /// The number of namespace declarations in scope at one element.
  public var namespaces: Int
  /// The length of a namespace's URI in bytes.
  public var namespaceLength: Int
  /// The number of elements, attributes, comments and processing instructions together.
  public var nodes: Int
  /// The number of comments and processing instructions outside the root.
  public var nodesOutsideRoot: Int

  /// The limits of TokenScripts: 8 MiB, 64 levels, and a hundred times the counts of the largest real file.
  public static let standard = XMLLimits(
    bytes: 8 << 20, depth: 64, attributes: 256, namespaces: 32, namespaceLength: 200,
    nodes: 200_000, nodesOutsideRoot: 64)
}
