internal import Cryptography
internal import Ethereum

/// A TokenScript with one contract and one card, in the latest version that has a published schema.
struct TokenScriptTemplate: Sendable {
  private let name: String

  /// Makes a template.
  ///
  /// - Parameter name: the contract's name: an ASCII letter and then letters, digits, `.`, `_` and `-`, as XML's names.
  /// - Returns: nil for another name.
  init?(name: String) {
    let isLetter = { (byte: UInt8) in (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
    guard let first = name.utf8.first, isLetter(first), name.utf8.count <= 64,
      name.utf8.allSatisfy({
        isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
          || ".-_".utf8.contains($0)
      })
    else { return nil }
    self.name = name
  }

  /// Returns the file.
  ///
  /// - Parameters:
  ///   - contract: the contract.
  ///   - chain: the contract's chain.
  ///   - interface: the contract's interface, such as `erc20`.
  func text(for contract: EthereumAddress, on chain: ChainID, interface: String) -> String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript"
              xmlns="http://www.w3.org/1999/xhtml"
              custodian="false">
      <!-- The token's name for people, in each language. -->
      <ts:label>
        <ts:plurals xml:lang="en">
          <ts:string quantity="one">\(name)</ts:string>
          <ts:string quantity="other">\(name)</ts:string>
        </ts:plurals>
      </ts:label>
      <!-- The contract, with an address for each chain that it is on. -->
      <ts:contract name="\(name)" interface="\(interface)">
        <ts:address network="\(chain)">\(contract.checksummed)</ts:address>
      </ts:contract>
      <!-- The tokens come from this contract, so repositories serve the file for it. -->
      <ts:origins>
        <ts:ethereum contract="\(name)"/>
      </ts:origins>
      <!-- The cards that wallets show: HTML, CSS and scripts. -->
      <ts:cards>
        <ts:card type="token" name="main">
          <ts:item-view xml:lang="en">
            <style type="text/css">p { font-family: sans-serif; }</style>
            <body><p>\(name)</p></body>
          </ts:item-view>
          <ts:view xml:lang="en">
            <style type="text/css">p { font-family: sans-serif; }</style>
            <body><p>\(name)</p></body>
          </ts:view>
        </ts:card>
      </ts:cards>
    </ts:token>

    """
  }
}
