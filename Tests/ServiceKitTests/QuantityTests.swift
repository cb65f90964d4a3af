internal import ServiceKit
internal import Testing

@Suite struct QuantityTests {
  @Test(arguments: [(0, "0 bytes"), (1, "1 byte"), (2, "2 bytes"), (21, "21 bytes")])
  func onlyOneIsSingular(_ number: Int, _ expected: String) {
    #expect(quantity(number, "byte") == expected)
  }
}
