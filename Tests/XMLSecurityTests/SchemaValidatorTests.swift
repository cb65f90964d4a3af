internal import Foundation
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
    let scratch = try Scratch()
    _ = try scratch.write(Self.main, to: "2020/03/tokenscript.xsd")
    _ = try scratch.write(Self.other, to: "2020/03/other.xsd")
    _ = try scratch.write(Self.main, to: "2019/05/tokenscript/tokenscript.xsd")
    _ = try scratch.write(Self.other, to: "2019/05/tokenscript/other.xsd")
    _ = try scratch.write(Self.main, to: "drafts/tokenscript.xsd")
    let validator = try SchemaValidator(folder: scratch.path)
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
    let scratch = try Scratch()
    _ = try scratch.write(Self.main, to: "2020/03/tokenscript.xsd")
    _ = try scratch.write(Self.other, to: "2020/03/other.xsd")
    let validator = try SchemaValidator(folder: scratch.path)
    let location = """
       xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' \
      xsi:schemaLocation='urn:t \(scratch.path)/none.xsd urn:x http://127.0.0.1:1/x.xsd'
      """
    let good = try document("<count>1</count>", attributes: location)
    #expect(validator.validate(good, version: "2020/03") == .valid)
  }

  /// An import reads only the folder of the schema.
  @Test(arguments: [
    "/etc/passwd", "../../outside.xsd", "file:///outside.xsd", "..", "", "missing.xsd",
  ])
  func importsFromElsewhere(location: String) throws {
    let scratch = try Scratch()
    _ = try scratch.write(Self.other, to: "outside.xsd")
    _ = try scratch.write(
      Self.main.replacing("http://127.0.0.1:1/some/where/other.xsd", by: location),
      to: "2020/03/tokenscript.xsd")
    let validator = try SchemaValidator(folder: scratch.path)
    #expect(validator.versions.isEmpty)
    #expect(validator.problems.count == 1)
  }

  @Test(arguments: ["", "<schema/>", "not XML", "<a/>"])
  func notASchema(text: String) throws {
    let scratch = try Scratch()
    _ = try scratch.write(text, to: "2020/03/tokenscript.xsd")
    let validator = try SchemaValidator(folder: scratch.path)
    #expect(validator.versions.isEmpty)
    #expect(validator.problems.count == 1)
  }

  @Test func folders() throws {
    #expect(throws: SchemaError.self) { try SchemaValidator(folder: "/nowhere/at/all") }
    let scratch = try Scratch()
    #expect(try SchemaValidator(folder: scratch.path).versions.isEmpty)
    _ = try scratch.write(Self.main, to: "a[b]*/2020/03/tokenscript.xsd")
    _ = try scratch.write(Self.other, to: "a[b]*/2020/03/other.xsd")
    #expect(try SchemaValidator(folder: scratch.path + "/a[b]*/").versions == ["2020/03"])
  }

  @Test func manyThreads() async throws {
    let scratch = try Scratch()
    _ = try scratch.write(Self.main, to: "2020/03/tokenscript.xsd")
    _ = try scratch.write(Self.other, to: "2020/03/other.xsd")
    let validator = try SchemaValidator(folder: scratch.path)
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
