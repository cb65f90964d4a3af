/// Returns a number with its noun, in the plural unless it is 1.
package func quantity(_ number: some BinaryInteger, _ noun: String) -> String {
  "\(number) \(noun)\(number == 1 ? "" : "s")"
}
