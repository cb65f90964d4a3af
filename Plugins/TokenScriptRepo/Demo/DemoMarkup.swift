/// The markup that the demo's TokenScripts have in common.
enum DemoMarkup {
  /// Makes a TokenScript for one contract on Ethereum's main network.
  ///
  /// - Parameters:
  ///   - contract: the contract's name.
  ///   - interface: the contract's interface.
  ///   - address: the contract's address.
  ///   - schema: the version of the language.
  ///   - isCustodian: whether somebody keeps the tokens' value for their owners.
  ///   - label: the element with the token's name.
  ///   - content: the elements after the contract and its origin.
  static func token(
    _ contract: String, _ interface: String = "erc20", at address: String,
    schema: String = "2020/06", isCustodian: Bool = false, label: String, _ content: String...
  ) -> String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <ts:token xmlns:ts="http://tokenscript.org/\(schema)/tokenscript"
              xmlns:ethereum="urn:ethereum:constantinople"
              xmlns="http://www.w3.org/1999/xhtml"
              custodian="\(isCustodian)">
    \(label.indented)
      <ts:contract name="\(contract)" interface="\(interface)">
        <ts:address network="1">\(address)</ts:address>
      </ts:contract>
      <ts:origins>
        <ts:ethereum contract="\(contract)"/>
      </ts:origins>
    \(content.joined(separator: "\n").indented)
    </ts:token>

    """
  }

  /// Makes an element around others.
  ///
  /// - Parameters:
  ///   - tag: the name, with the attributes.
  ///   - content: the elements within.
  static func element(_ tag: String, _ content: String...) -> String {
    """
    <\(tag)>
    \(content.joined(separator: "\n").indented)
    </\(tag.prefix { $0 != " " })>
    """
  }

  /// Makes a text in each language.
  static func strings(_ texts: KeyValuePairs<String, String>) -> String {
    texts.map { "<ts:string xml:lang=\"\($0)\">\($1)</ts:string>" }.joined(separator: "\n")
  }

  /// Makes a token's name in one language.
  static func plurals(_ language: String, _ one: String, _ other: String) -> String {
    element(
      "ts:plurals xml:lang=\"\(language)\"", "<ts:string quantity=\"one\">\(one)</ts:string>",
      "<ts:string quantity=\"other\">\(other)</ts:string>")
  }

  /// Makes the view of a token in a list.
  static func itemView(_ text: String) -> String {
    element(
      "ts:item-view xml:lang=\"en\"",
      "<style type=\"text/css\">p { margin: 0; font-family: sans-serif; }</style>",
      "<body><p>\(text)</p></body>")
  }

  /// Makes an attribute.
  ///
  /// - Parameters:
  ///   - name: the name.
  ///   - syntax: the last number of the syntax's identifier (RFC 4517): 7 is a truth value, 27 a whole number, and 36 a
  ///     string of digits.
  ///   - label: the attribute's name for people.
  ///   - origin: the element that tells the value's source.
  static func attribute(
    _ name: String, syntax: Int, label: KeyValuePairs<String, String> = [:], from origin: String
  ) -> String {
    let syntax = "<ts:syntax>1.3.6.1.4.1.1466.115.121.1.\(syntax)</ts:syntax>"
    let origins = element("ts:origins", origin)
    let tag = "ts:attribute name=\"\(name)\""
    return label.isEmpty
      ? element(tag, element("ts:type", syntax), origins)
      : element(tag, element("ts:type", syntax), element("ts:label", strings(label)), origins)
  }

  /// Makes a call of a contract's function as an attribute's origin.
  ///
  /// - Parameters:
  ///   - function: the function's name.
  ///   - contract: the contract's name.
  ///   - type: the type of the value.
  ///   - argument: the element of the only argument, or nil if there is none.
  static func call(
    _ function: String, of contract: String, as type: String, with argument: String? = nil
  ) -> String {
    let tag =
      "ethereum:call function=\"\(function)\" contract=\"\(contract)\" as=\"\(type)\""
    return argument.map { element(tag, element("ts:data", $0)) } ?? "<\(tag)/>"
  }
}

extension String {
  /// The lines, two blanks further to the right.
  fileprivate var indented: String {
    split(separator: "\n").map { "  \($0)" }.joined(separator: "\n")
  }
}
