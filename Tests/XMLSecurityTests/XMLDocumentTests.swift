internal import Foundation
internal import Testing
internal import XMLSecurity

@Suite struct XMLDocumentTests {
  private func error(_ text: String) -> XMLError? {
    error([UInt8](text.utf8))
  }

  private func error(_ bytes: [UInt8]) -> XMLError? {
    do {
      _ = try XMLDocument(parsing: bytes)
      return nil
    } catch {
      return error
    }
  }

  @Test func navigation() throws {
    let document = try XMLDocument(parsing: [UInt8](Fixtures.unsigned.utf8))
    let root = document.root
    #expect(root.name == "token")
    #expect(root.namespace == "http://tokenscript.org/2020/03/tokenscript")
    #expect(root.line == 3)
    #expect(root.attribute("name") == "entry")
    #expect(root.attribute("nothing") == nil)
    #expect(root.children.map(\.name) == ["label", "contract", "code", "origins"])
    #expect(root.children(named: "contract", in: root.namespace).count == 1)
    #expect(root.children(named: "contract", in: nil).isEmpty)
    let label = try #require(root.child(named: "label", in: root.namespace))
    #expect(label.text == "Entry & exit")
    let text = try #require(label.children.first)
    #expect(text.attribute("lang") == nil)
  }

  /// Comments are not signed, so they must not change the text that is read.
  @Test(arguments: [
    ("<a>0x12<!-- 3 -->45</a>", "0x1245"),
    ("<a>0x12<?pi 3?>45</a>", "0x1245"),
    ("<a>0x12<![CDATA[34]]>5</a>", "0x12345"),
    ("<a>0x<b>12<!-- x --></b>3</a>", "0x123"),
    ("<a>&#48;&lt;&amp;</a>", "0<&"),
    ("<a xmlns:xi='http://www.w3.org/2001/XInclude'><xi:include href='/etc/passwd'/></a>", ""),
    ("<a/>", ""),
    ("\u{feff}<a>x</a>", "x"),
    ("<?xml version='1.0' encoding='utf-8'?><a>é</a>", "é"),
  ])
  func text(document: String, text: String) throws {
    #expect(try XMLDocument(parsing: [UInt8](document.utf8)).root.text == text)
  }

  /// An element outlives the variable that held its document.
  @Test func elementsKeepTheDocument() throws {
    func root() throws -> XMLElement { try XMLDocument(parsing: [UInt8]("<a>x</a>".utf8)).root }
    #expect(try root().text == "x")
  }

  @Test(arguments: [
    "", " \n\t ", "x", "<", "<a", "<a>", "<a></b>", "<a/><b/>", "<a/>x", "<a b='1' b='2'/>",
    "<a>&nbsp;</a>", "<a>&#0;</a>", "<a x:b='1'/>", "<x:a/>", "<a b=1/>", "<!-- only -->",
    "<a><![CDATA[x</a>", "<a><!-- x</a>", "<?xml version='1.0'?>", "<a><?xml version='1.0'?></a>",
    "<a b='<'/>", "<a>]]></a>", "<a xmlns:b=''/>", "\u{feff}\u{feff}<a/>", "<a/><a/>", "<a/>\u{1}",
  ])
  func malformed(document: String) {
    #expect(error(document)?.code == .malformed)
  }

  @Test(arguments: [
    "<!DOCTYPE a><a/>",
    "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
    "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>",
    "<!DOCTYPE a [<!ENTITY % x SYSTEM 'http://127.0.0.1:1/x'> %x;]><a/>",
    "<!DOCTYPE a [<!ATTLIST a b CDATA 'c'>]><a/>",
    "<!-- x --><!DOCTYPE a PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN' 'x'><a/>",
  ])
  func documentType(document: String) {
    #expect(error(document)?.code == .doctype)
  }

  @Test func billionLaughs() {
    var entities = "<!ENTITY a0 'laugh'>"
    for level in 1..<20 {
      let inner = String(repeating: "&a\(level - 1);", count: 10)
      entities += "<!ENTITY a\(level) '\(inner)'>"
    }
    #expect(error("<!DOCTYPE a [\(entities)]><a>&a19;</a>")?.code == .doctype)
  }

  @Test func encodings() throws {
    let text = "<?xml version=\"1.0\"?><a>é</a>"
    let utf16: [UInt8] = [0xff, 0xfe] + text.utf16.map(UInt8.init).flatMap { [$0, 0] as [UInt8] }
    let utf16BigEndian: [UInt8] =
      [0xfe, 0xff] + text.utf16.map(UInt8.init).flatMap { [0, $0] as [UInt8] }
    for bytes in [utf16, [UInt8](utf16.dropFirst(2)), utf16BigEndian] {
      #expect(error(bytes)?.code == .encoding)
    }
    for name in ["ISO-8859-1", "UTF-16", "utf-7", "US-ASCII", "EBCDIC-CP-US", "UTF-8x"] {
      #expect(error("<?xml version='1.0' encoding='\(name)'?><a/>")?.code == .encoding)
      #expect(
        error("\u{feff}<?xml version=\"1.0\" encoding = \"\(name)\" ?><a/>")?.code == .encoding)
    }
    for bad: [UInt8] in [
      [0xc3], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xff],
    ] {
      let error = error([UInt8]("<a>\n".utf8) + bad + [UInt8]("</a>".utf8))
      #expect(error?.code == .encoding)
      #expect(error?.line == 2)
    }
    #expect(error([UInt8]("<a>".utf8) + [0] + [UInt8]("</a>".utf8))?.code == .encoding)
    #expect(error([UInt8]("<a/>".utf8) + [0] + [UInt8]("<b/>".utf8))?.code == .encoding)
  }

  @Test func limits() throws {
    let fits = String(repeating: "<a>", count: 64) + String(repeating: "</a>", count: 64)
    #expect(error(fits) == nil)
    let deep = String(repeating: "<a>", count: 10_000) + String(repeating: "</a>", count: 10_000)
    #expect(error(deep)?.code == .tooDeep)
    #expect(error("<a>\n<a>" + fits + "</a></a>")?.line == 2)

    let large = "<a>" + String(repeating: "x", count: 9 << 20) + "</a>"
    #expect(error(large)?.code == .tooLarge)
    let largest = "<a>" + String(repeating: "x", count: (8 << 20) - 7) + "</a>"
    #expect(error(largest) == nil)

    // libxml2 compares each pair of these attributes.
    let attributes = String(repeating: " a=''", count: 1_000_000)
    #expect(error("<a" + attributes + "/>")?.code == .tooMany)
    let namespaces = (0..<33).map { "xmlns:a\($0)='urn:a'" }.joined(separator: " ")
    #expect(error("<a \(namespaces)/>")?.code == .tooMany)
    let uri = String(repeating: "x", count: 200)
    #expect(error("<a xmlns='urn:\(uri)'/>")?.code == .tooMany)
    var few = XMLLimits.standard
    few.nodes = 10
    for node in ["<b/>", "<b c=''/>", "<!---->", "<?b?>"] {
      let count = node.contains("c=") ? 5 : 10
      #expect(throws: XMLError.self) {
        try XMLDocument(
          parsing: [UInt8]("<a>\(String(repeating: node, count: count))</a>".utf8), limits: few)
      }
      _ = try XMLDocument(
        parsing: [UInt8]("<a>\(String(repeating: node, count: count - 1))</a>".utf8), limits: few)
    }
    #expect(error("<a/>" + String(repeating: "<!---->", count: 65))?.code == .tooMany)
  }

  /// A misplaced quote or bracket may mislead the scanner, but not the parser.
  @Test(arguments: [
    "<a '>'/>", "<a <b c='1'/>", "<!-- <a '> --><a b='>'/>", "<a><![CDATA[<b ']]></a>",
    "<?pi <a '?><a/>", "<a b=\"'\" c='\"'/>", "<!ELEMENT a ANY><a/>", "</a>", "<a></a></a>",
  ])
  func lookAhead(document: String) {
    #expect(error(document)?.code ?? .malformed == .malformed)
  }

  /// A truncated file is malformed wherever it ends.
  @Test func truncated() throws {
    let signed = [UInt8](try Fixtures.signed().utf8)
    let end = try #require(signed.lastIndex(of: UInt8(ascii: ">")))
    for length in stride(from: end, through: 0, by: -13) {
      #expect(error([UInt8](signed[..<length]))?.code == .malformed)
    }
  }

  @Test func words() {
    #expect(error("<a>\n</b>")?.description.hasPrefix("line 2: ") == true)
    #expect(error("<a>\n<!DOCTYPE a></a>")?.line == 2)
  }
}
