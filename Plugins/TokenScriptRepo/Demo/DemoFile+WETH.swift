extension DemoFile {
  /// Wrapped Ether, with a card that changes it back.
  static let weth = #"""
    <?xml version="1.0" encoding="UTF-8"?>
    <ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript"
              xmlns:ethereum="urn:ethereum:constantinople"
              xmlns="http://www.w3.org/1999/xhtml"
              custodian="false">
      <ts:label>
        <ts:string xml:lang="en">Wrapped Ether</ts:string>
        <ts:string xml:lang="de">Ether in Tokenform</ts:string>
      </ts:label>
      <ts:contract name="WETH" interface="erc20">
        <ts:address network="1">0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2</ts:address>
      </ts:contract>
      <ts:origins>
        <ts:ethereum contract="WETH"/>
      </ts:origins>
      <ts:cards>
        <ts:card type="token" name="about">
          <ts:item-view xml:lang="en">
            <style type="text/css">p { margin: 0; font-family: sans-serif; }</style>
            <body><p>Wrapped Ether</p></body>
          </ts:item-view>
        </ts:card>
        <ts:card type="action" name="unwrap">
          <ts:label>
            <ts:string xml:lang="en">Change back to Ether</ts:string>
            <ts:string xml:lang="de">In Ether zurücktauschen</ts:string>
          </ts:label>
          <ts:attribute name="amount">
            <ts:type>
              <ts:syntax>1.3.6.1.4.1.1466.115.121.1.36</ts:syntax>
            </ts:type>
            <ts:label>
              <ts:string xml:lang="en">Amount</ts:string>
              <ts:string xml:lang="de">Betrag</ts:string>
            </ts:label>
            <ts:origins>
              <ts:user-entry as="e18"/>
            </ts:origins>
          </ts:attribute>
          <ts:transaction>
            <ethereum:transaction function="withdraw" contract="WETH">
              <ts:data>
                <ts:uint256 ref="amount"/>
              </ts:data>
            </ethereum:transaction>
          </ts:transaction>
          <ts:view xml:lang="en">
            <style type="text/css">
              label, input { display: block; font-family: sans-serif; }
              input { margin-top: 0.5em; width: 100%; font-size: 1.2em; }
            </style>
            <body>
              <div>
                <label for="amount">How much?</label>
                <input id="amount" type="text" value="0"/>
              </div>
            </body>
          </ts:view>
        </ts:card>
      </ts:cards>
    </ts:token>

    """#
}
