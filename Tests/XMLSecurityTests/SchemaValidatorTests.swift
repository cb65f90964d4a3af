internal import Foundation
internal import TestSupport
internal import Testing
internal import XMLSecurity

@Suite struct SchemaValidatorTests {
  private static let main = """
    <schema xmlns="http://www.w3.org/2001/XMLSchema" xmlns:t="urn:t" xmlns:o="urn:o"
      targetNamespace="urn:t" elementFormDefault="qualified">
      <import namespace="urn:o" schemaLocation="http://127.0.0.1:1/some/where/other.xsd"/>
      <element name="token"><complexType><sequence>
        <element name="count" type="o:small" maxOccurs="unbounded"/>
      </sequence></complexType></element>
    </schema>
    """
  private static let other = """
    <schema xmlns="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:o">
      <simpleType name="small"><restriction base="integer"><maxInclusive value="9"/></restriction>
      </simpleType>
    </schema>
    """

  private func document(_ content: String, attributes: String = "") throws -> XMLDocument {
    try XMLDocument(parsing: [UInt8]("<token xmlns='urn:t'\(attributes)>\n\(content)</token>".utf8))
  }

  @Test func verdicts() throws {
    let folder = TemporaryFolder()
    try folder.write("2020/03/tokenscript.xsd", Self.main)
    try folder.write("2020/03/other.xsd", Self.other)
    try folder.write("2019/05/tokenscript/tokenscript.xsd", Self.main)
    try folder.write("2019/05/tokenscript/other.xsd", Self.other)
    try folder.write("drafts/tokenscript.xsd", Self.main)
    let validator = try SchemaValidator(folder: folder.path)
    #expect(validator.versions == ["2019/05", "2020/03"])
    #expect(validator.problems.isEmpty)
    for version in validator.versions {
      #expect(try validator.validate(document("<count>9</count>"), version: version) == .valid)
      let verdict = try validator.validate(document("<count>10</count>"), version: version)
      guard case .invalid(let problems) = verdict else {
        Issue.record("10 is not small")
        continue
      }
      #expect(problems.first?.line == 2)
      #expect(problems.first?.message.contains("count") == true)
    }
    #expect(try validator.validate(document(""), version: "2020/04") == .noSchema)
    #expect(try validator.validate(document(""), version: "../2020/03") == .noSchema)
  }

  /// The schema locations in a document are not followed.
  @Test func schemaLocation() throws {
    let folder = TemporaryFolder()
    try folder.write("2020/03/tokenscript.xsd", Self.main)
    try folder.write("2020/03/other.xsd", Self.other)
    let validator = try SchemaValidator(folder: folder.path)
    let location = """
       xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' \
      xsi:schemaLocation='urn:t \(folder.path)/none.xsd urn:x http://127.0.0.1:1/x.xsd'
      """
    let good = try document("<count>1</count>", attributes: location)
    #expect(validator.validate(good, version: "2020/03") == .valid)
  }

  /// An import reads only the folder of the schema.
  @Test(arguments: [
    "/etc/passwd", "../../outside.xsd", "file:///outside.xsd", "..", "", "missing.xsd",
  ])
  func importsFromElsewhere(location: String) throws {
    let folder = TemporaryFolder()
    try folder.write("outside.xsd", Self.other)
    try folder.write(
      "2020/03/tokenscript.xsd",
      Self.main.replacing("http://127.0.0.1:1/some/where/other.xsd", by: location))
    let validator = try SchemaValidator(folder: folder.path)
    #expect(validator.versions.isEmpty)
    #expect(validator.problems.count == 1)
  }

  @Test(arguments: ["", "<schema/>", "not XML", "<a/>"])
  func notASchema(text: String) throws {
    let folder = TemporaryFolder()
    try folder.write("2020/03/tokenscript.xsd", text)
    let validator = try SchemaValidator(folder: folder.path)
    #expect(validator.versions.isEmpty)
    #expect(validator.problems.count == 1)
  }

  @Test func folders() throws {
    #expect(throws: SchemaError.self) { try SchemaValidator(folder: "/nowhere/at/all") }
    let folder = TemporaryFolder()
    #expect(try SchemaValidator(folder: folder.path).versions.isEmpty)
    try folder.write("a[b]*/2020/03/tokenscript.xsd", Self.main)
    try folder.write("a[b]*/2020/03/other.xsd", Self.other)
    #expect(try SchemaValidator(folder: folder.path + "/a[b]*/").versions == ["2020/03"])
  }

  @Test func manyThreads() async throws {
    let folder = TemporaryFolder()
    try folder.write("2020/03/tokenscript.xsd", Self.main)
    try folder.write("2020/03/other.xsd", Self.other)
    let validator = try SchemaValidator(folder: folder.path)
    await withTaskGroup(of: Bool.self) { group in
      for number in 0..<64 {
        group.addTask {
          let isValid = number.isMultiple(of: 2)
          let content = String(repeating: "<count>\(isValid ? 1 : 10)</count>", count: 50)
          guard let document = try? self.document(content) else { return false }
          return (validator.validate(document, version: "2020/03") == .valid) == isValid
        }
      }
      for await result in group { #expect(result) }
    }
  }
}
