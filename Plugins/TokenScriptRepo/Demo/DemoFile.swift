/// The TokenScripts of the demo.
enum DemoFile {
  /// The files in both layouts, `<signer>/<YYYY>/<MM>/<contract>.tsml` and the older
  /// `<contract>/schema…/<signer>-signed.xml`: the path below the root, the signer, and the document without a signature.
  static let all: [(path: String, signer: DemoSigner, bytes: [UInt8])] = [
    ("demo.awd.example/2020/03/DAI.tsml", .demo, PackageResources.DAI_2020_03_tsml),
    ("demo.awd.example/2020/06/DAI.tsml", .demo, PackageResources.DAI_tsml),
    ("demo.awd.example/2020/06/ENS.tsml", .demo, PackageResources.ENS_tsml),
    ("demo.awd.example/2020/06/USDC.tsml", .demo, PackageResources.USDC_tsml),
    ("USDC/schema2020-06/guild.awd.example-signed.xml", .guild, PackageResources.USDC_tsml),
    ("WETH/schema2020-06/signed.xml", .owner, PackageResources.WETH_tsml),
  ]
}
