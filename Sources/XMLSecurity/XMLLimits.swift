/// What a document may have before it is refused, each checked while it is read.
///
/// Beyond plain size these are the counts in which libxml2 and canonicalization are quadratic, or
/// which they multiply: without them a file of some megabytes keeps a core busy for minutes.
public struct XMLLimits: Sendable, Hashable {
  /// Size of the file in bytes.
  public var bytes: Int
  /// Levels of elements, the root being the first.
  public var depth: Int
  /// Attributes and namespace declarations of one element.
  public var attributes: Int
  /// Namespace declarations in scope at one element.
  public var namespaces: Int
  /// Length of a namespace's URI in bytes.
  public var namespaceLength: Int
  /// Elements, attributes, comments and processing instructions together.
  public var nodes: Int
  /// Comments and processing instructions outside the root.
  public var nodesOutsideRoot: Int

  /// 8 MiB, 64 levels, and counts a hundred times those of the largest real TokenScript.
  public static let standard = XMLLimits(
    bytes: 8 << 20, depth: 64, attributes: 256, namespaces: 32, namespaceLength: 200,
    nodes: 200_000, nodesOutsideRoot: 64)
}
