internal import CXML
internal import CXMLSec

/// An element of a document, which it keeps alive.
@safe public struct XMLElement {
  let node: xmlNodePtr
  let document: XMLDocument

  init(_ node: xmlNodePtr, in document: XMLDocument) {
    unsafe self.node = node
    self.document = document
  }

  /// The name without its prefix.
  public var name: String { unsafe String(cString: node.pointee.name) }

  /// The URI of the namespace.
  public var namespace: String? {
    guard let uri = unsafe node.pointee.ns?.pointee.href else { return nil }
    return unsafe String(cString: uri)
  }

  /// The prefix of the name, or nil without one.
  public var prefix: String? {
    guard let prefix = unsafe node.pointee.ns?.pointee.prefix else { return nil }
    return unsafe String(cString: prefix)
  }

  /// Returns whether this element, or one below it in the same namespace, has another prefix or none.
  package func hasOtherPrefix(than prefix: String) -> Bool {
    let namespace = namespace
    return unsafe nodes.contains { node in
      guard let found = unsafe node.pointee.ns, let uri = unsafe found.pointee.href,
        let namespace, unsafe Self.isEqual(uri, namespace)
      else { return false }
      guard let written = unsafe found.pointee.prefix else { return true }
      return unsafe !Self.isEqual(written, prefix)
    }
  }

  /// Returns whether this element, or one below it in the same namespace, has a name.
  package func hasElement(named name: String) -> Bool {
    let namespace = namespace
    return unsafe nodes.contains { unsafe Self.isNode($0, named: name, in: namespace) }
  }

  /// Returns whether a text is in the content of the element, or in an attribute of it or of one below it.
  package func mentions(_ text: String) -> Bool {
    if self.text.contains(text) { return true }
    return unsafe nodes.contains { node in
      var property = unsafe node.pointee.properties
      while let attribute = unsafe property {
        let value = unsafe xmlNodeListGetString(document.pointer, attribute.pointee.children, 1)
        if unsafe Self.adopting(value)?.contains(text) == true { return true }
        unsafe property = attribute.pointee.next
      }
      return false
    }
  }

  /// The line, from 1, on which the start tag ends.
  public var line: Int { unsafe xmlGetLineNo(node) }

  /// The text of the element and its descendants in document order; comments and processing
  /// instructions are skipped.
  public var text: String { unsafe Self.adopting(xmlNodeGetContent(node)) ?? "" }

  /// The elements directly below, in document order.
  public var children: [XMLElement] { unsafe nodesBelow.map(element(at:)) }

  /// Returns the elements directly below with a name and namespace, in document order.
  ///
  /// - Parameters:
  ///   - name: the name without a prefix.
  ///   - namespace: the URI of the namespace, or nil for no namespace.
  public func children(named name: String, in namespace: String?) -> [XMLElement] {
    // Only what is found keeps the document alive, as most elements have another name.
    unsafe nodesBelow.filter { unsafe Self.isNode($0, named: name, in: namespace) }
      .map(element(at:))
  }

  /// Returns the first element directly below with a name and namespace.
  ///
  /// - Parameters:
  ///   - name: the name without a prefix.
  ///   - namespace: the URI of the namespace, or nil for no namespace.
  public func child(named name: String, in namespace: String?) -> XMLElement? {
    unsafe nodesBelow.first { unsafe Self.isNode($0, named: name, in: namespace) }.map(element(at:))
  }

  /// The nodes of the elements directly below, each found when it is asked for.
  private var nodesBelow: UnfoldSequence<xmlNodePtr, xmlNodePtr?> {
    unsafe sequence(state: xmlFirstElementChild(node)) { next in
      guard let node = unsafe next else { return nil }
      unsafe next = xmlNextElementSibling(node)
      return unsafe node
    }
  }

  /// Returns the element of a node of the same document.
  private func element(at node: xmlNodePtr) -> XMLElement { unsafe XMLElement(node, in: document) }

  /// Returns the value of an attribute.
  ///
  /// - Parameter name: the name of an attribute without a prefix.
  public func attribute(_ name: String) -> String? {
    unsafe Self.adopting(xmlGetNoNsProp(node, name))
  }

  /// The language of the content (`xml:lang`), which may be that of an element above.
  public var language: String? { unsafe Self.adopting(xmlNodeGetLang(node)) }

  /// Copies a text that libxml2 has made, and frees it.
  private static func adopting(_ text: UnsafeMutablePointer<xmlChar>?) -> String? {
    guard let text = unsafe text else { return nil }
    defer { unsafe cxml_free(text) }
    return unsafe String(cString: text)
  }

  /// Returns whether the element has a name and namespace.
  func isNamed(_ name: String, in namespace: String?) -> Bool {
    unsafe Self.isNode(node, named: name, in: namespace)
  }

  /// Returns whether the node of an element has a name and namespace.
  static func isNode(_ node: xmlNodePtr, named name: String, in namespace: String?) -> Bool {
    guard unsafe isEqual(node.pointee.name, name) else { return false }
    guard let uri = unsafe node.pointee.ns?.pointee.href else { return namespace == nil }
    return namespace.map { unsafe isEqual(uri, $0) } ?? false
  }

  /// Returns whether a C string is a text; no C string is made of the text, as most names differ.
  private static func isEqual(_ found: UnsafePointer<xmlChar>, _ text: String) -> Bool {
    var next = unsafe found
    for byte in text.utf8 {
      guard unsafe next.pointee == byte, byte != 0 else { return false }
      unsafe next += 1
    }
    return unsafe next.pointee == 0
  }

  /// The bytes of the element's base64 text without white space, or nil if it is empty or no base64.
  var base64: [UInt8]? {
    let text = text
    var bytes = [UInt8](repeating: 0, count: text.utf8.count)
    guard !bytes.isEmpty else { return nil }
    var count: UInt32 = 0
    guard unsafe xmlSecBase64Decode_ex(text, &bytes, UInt32(bytes.count), &count) == 0, count > 0
    else { return nil }
    return [UInt8](bytes[..<Int(count)])
  }

  /// The element above, or nil for the root.
  var parent: XMLElement? {
    guard let parent = unsafe node.pointee.parent,
      unsafe parent.pointee.type == XML_ELEMENT_NODE
    else { return nil }
    return unsafe XMLElement(parent, in: document)
  }

  /// The nodes of the element and of those below it in document order, each found when it is asked for.
  var nodes: UnfoldSequence<xmlNodePtr, xmlNodePtr?> {
    unsafe sequence(state: node) { [node] next in
      guard let found = unsafe next else { return nil }
      unsafe next = Self.node(after: found, within: node)
      return unsafe found
    }
  }

  /// Returns the node of the next element in document order within the tree below an element's node.
  private static func node(after node: xmlNodePtr, within top: xmlNodePtr) -> xmlNodePtr? {
    if let child = unsafe xmlFirstElementChild(node) { return unsafe child }
    var current = unsafe node
    while unsafe current != top {
      if let sibling = unsafe xmlNextElementSibling(current) { return unsafe sibling }
      guard let parent = unsafe current.pointee.parent else { return nil }
      unsafe current = parent
    }
    return nil
  }
}

extension String {
  /// The text without leading and trailing XML white space.
  package var trimmingXMLSpace: String {
    let isSpace: (UInt8) -> Bool = { [0x20, 0x09, 0x0d, 0x0a].contains($0) }
    guard let first = utf8.firstIndex(where: { !isSpace($0) }),
      let last = utf8.lastIndex(where: { !isSpace($0) })
    else { return "" }
    return String(self[first...last])
  }
}
