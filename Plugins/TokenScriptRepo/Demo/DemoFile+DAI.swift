extension DemoFile {
  /// Dai, in the version of March 2020.
  static let dai202003 = #"""
    <?xml version="1.0" encoding="UTF-8"?>
    <ts:token xmlns:ts="http://tokenscript.org/2020/03/tokenscript"
              xmlns="http://www.w3.org/1999/xhtml"
              custodian="false">
      <ts:name>
        <ts:plurals xml:lang="en">
          <ts:string quantity="one">Dai token</ts:string>
          <ts:string quantity="other">Dai tokens</ts:string>
        </ts:plurals>
        <ts:plurals xml:lang="es">
          <ts:string quantity="one">Ficha Dai</ts:string>
          <ts:string quantity="other">Fichas Dai</ts:string>
        </ts:plurals>
      </ts:name>
      <ts:contract name="DAI" interface="erc20">
        <ts:address network="1">0x6B175474E89094C44Da98b954EedeAC495271d0F</ts:address>
      </ts:contract>
      <ts:origins>
        <ts:ethereum contract="DAI"/>
      </ts:origins>
      <ts:cards>
        <ts:token>
          <ts:item-view xml:lang="en">
            <style type="text/css">p { margin: 0; font-family: sans-serif; }</style>
            <body><p>Dai</p></body>
          </ts:item-view>
          <ts:view xml:lang="en">
            <style type="text/css">
              h3 { font-family: sans-serif; }
              p { font-family: sans-serif; color: #444; }
            </style>
            <body>
              <h3>Dai</h3>
              <p>A token that is meant to be worth one US dollar.</p>
            </body>
          </ts:view>
        </ts:token>
      </ts:cards>
      <ts:attribute-type id="balance" syntax="1.3.6.1.4.1.1466.115.121.1.36">
        <ts:name>
          <ts:string xml:lang="en">Balance</ts:string>
          <ts:string xml:lang="es">Saldo</ts:string>
        </ts:name>
        <ts:origins>
          <ts:ethereum function="balanceOf" contract="DAI" as="e18">
            <ts:data>
              <ts:address ref="ownerAddress"/>
            </ts:data>
          </ts:ethereum>
        </ts:origins>
      </ts:attribute-type>
    </ts:token>

    """#

  /// Dai, in the version of June 2020.
  static let dai202006 = #"""
    <?xml version="1.0" encoding="UTF-8"?>
    <ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript"
              xmlns:ethereum="urn:ethereum:constantinople"
              xmlns="http://www.w3.org/1999/xhtml"
              custodian="false">
      <ts:label>
        <ts:plurals xml:lang="en">
          <ts:string quantity="one">Dai token</ts:string>
          <ts:string quantity="other">Dai tokens</ts:string>
        </ts:plurals>
        <ts:plurals xml:lang="es">
          <ts:string quantity="one">Ficha Dai</ts:string>
          <ts:string quantity="other">Fichas Dai</ts:string>
        </ts:plurals>
      </ts:label>
      <ts:contract name="DAI" interface="erc20">
        <ts:address network="1">0x6B175474E89094C44Da98b954EedeAC495271d0F</ts:address>
      </ts:contract>
      <ts:origins>
        <ts:ethereum contract="DAI"/>
      </ts:origins>
      <ts:cards>
        <ts:card type="token" name="balance">
          <ts:item-view xml:lang="en">
            <style type="text/css">p { margin: 0; font-family: sans-serif; }</style>
            <body><p>Dai</p></body>
          </ts:item-view>
          <ts:view xml:lang="en">
            <style type="text/css">
              h3 { font-family: sans-serif; }
              p { font-family: sans-serif; color: #444; }
            </style>
            <body>
              <h3>Dai</h3>
              <p>A token that is meant to be worth one US dollar.</p>
            </body>
          </ts:view>
        </ts:card>
      </ts:cards>
      <ts:attribute name="balance">
        <ts:type>
          <ts:syntax>1.3.6.1.4.1.1466.115.121.1.36</ts:syntax>
        </ts:type>
        <ts:label>
          <ts:string xml:lang="en">Balance</ts:string>
          <ts:string xml:lang="es">Saldo</ts:string>
        </ts:label>
        <ts:origins>
          <ethereum:call function="balanceOf" contract="DAI" as="e18">
            <ts:data>
              <ts:address ref="ownerAddress"/>
            </ts:data>
          </ethereum:call>
        </ts:origins>
      </ts:attribute>
      <ts:attribute name="supply">
        <ts:type>
          <ts:syntax>1.3.6.1.4.1.1466.115.121.1.36</ts:syntax>
        </ts:type>
        <ts:label>
          <ts:string xml:lang="en">All Dai there is</ts:string>
          <ts:string xml:lang="es">Total de Dai</ts:string>
        </ts:label>
        <ts:origins>
          <ethereum:call function="totalSupply" contract="DAI" as="e18"/>
        </ts:origins>
      </ts:attribute>
    </ts:token>

    """#
}
