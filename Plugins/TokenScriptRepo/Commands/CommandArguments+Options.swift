internal import ServiceKit
internal import Configuration
internal import Ethereum

extension CommandArguments {
  /// Returns the value of an option that must be there.
  ///
  /// - Parameters:
  ///   - option: the name of the option.
  ///   - placeholder: the word for its value in the error.
  /// - Throws: `.usage` without it.
  func required(_ option: String, _ placeholder: String? = nil) throws(CommandError) -> String {
    guard let value = self[option] else {
      throw .usage("--\(option)\(placeholder.map { " \($0)" } ?? "") is missing")
    }
    return value
  }

  /// Returns the chain that an option names, or nil without it.
  ///
  /// - Throws: `.usage` for another text.
  func chain(_ option: String) throws(CommandError) -> ChainID? {
    guard let text = self[option] else { return nil }
    guard let chain = ChainID(text) else { throw .usage("--\(option): expected a number from 1") }
    return chain
  }

  /// Returns the URL that an option names, or nil without it.
  ///
  /// - Throws: `.usage` for another text, with an example.
  func url(_ option: String, such example: String) throws(CommandError) -> PublicURL? {
    guard let text = self[option] else { return nil }
    guard let url = PublicURL(text) else {
      throw .usage("--\(option): expected a URL such as \(example)")
    }
    return url
  }
}
