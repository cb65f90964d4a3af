internal import Cryptography
internal import Foundation
internal import TestSupport
internal import Platform
internal import XMLSecurity

/// Keys of owners and authors, and certificates that openssl has made of them as the official tool does.
struct Delegates: Sendable {
  static let shared = Result { try Delegates() }

  private struct Failure: Error {
    let description: String
  }

  private let folder = TemporaryFolder()

  private init() throws {
    let outcome = try ChildProcess.run("/bin/sh", ["-ec", Self.script], in: folder.path)
    guard outcome.code == 0 else { throw Failure(description: outcome.errors) }
  }

  /// Certificates of the author from 2020 to 2030, by name: as they should be, signed by somebody else, from a made-up root,
  /// over before 2021, with a compressed point, with a point that lies on no curve, in names as they are elsewhere, with
  /// another digest, of a point on another curve, and by an author whom the owner has certified.
  private static let script = """
    key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:${2:-secp256k1} -out $1.key; }
    point() { openssl pkey -in $1.key -pubout -outform DER | tail -c 65 | od -An -v -tx1 | tr -d ' \\n'; }
    issuer() { openssl req -x509 -new -key $1.key -subj "/CN=$1" -days 9000 -out $1.pem; }
    certify() {
      name=2.5.29.18; case $4 in URI*) name=issuerAltName;; esac
      printf "$name"' = %s\\nbasicConstraints = critical,CA:FALSE,pathlen:0\\n' "$4" > $1.ext
      rm -f index*; : > index; echo 01 > serial
      openssl req -new -key $2.key -subj "/CN=$2" -out $1.csr
      openssl ca -batch -config ca.cnf -in $1.csr -cert $3.pem -keyfile $3.key -out $1.pem -md ${6:-sha256} \\
        -startdate 20200101000000Z -enddate ${5:-20300101000000Z} -extfile $1.ext -notext
    }
    printf '[ca]\\ndefault_ca=d\\n[d]\\ndatabase=index\\nserial=serial\\nnew_certs_dir=.\\npolicy=p\\nunique_subject=no\\n[p]\\ncommonName=supplied\\n' > ca.cnf
    key owner; key author; key other; key middle; key nist P-256
    for name in owner other middle nist; do issuer $name; done
    point=$(point owner)
    certify good author owner critical,DER:$point
    certify forged author other critical,DER:$point
    certify madeup author other critical,DER:$(point other)
    certify expired author owner critical,DER:$point 20210101000000Z
    certify compressed author owner critical,DER:02$(echo $point | cut -c 3-66)
    wrong=00; case $point in *00) wrong=01;; esac
    certify offcurve author owner critical,DER:${point%??}$wrong
    certify names author owner URI:https://owner.example
    certify digest author owner critical,DER:$point 20300101000000Z sha384
    certify nistpoint author nist critical,DER:$(point nist)
    certify middle-by-owner middle owner critical,DER:$point
    certify twostep author middle critical,DER:$(point middle)
    """

  /// Returns a key in PEM.
  func key(_ name: String) throws -> PrivateKey {
    try PrivateKey(pem: Array(Data(contentsOf: URL(filePath: "\(folder.path)/\(name).key"))))
  }

  /// Returns the address of a key.
  func address(_ name: String) throws -> String { try key(name).publicKey.identifier }

  /// Signs a file as the author, with certificates by their names, or as somebody else with a bare key.
  func sign(
    _ text: String, with certificates: [String], as name: String = "author", at time: Int64
  ) throws -> [UInt8] {
    let certificates = try certificates.flatMap { name in
      try Certificate.certificates(
        pem: Array(Data(contentsOf: URL(filePath: "\(folder.path)/\(name).pem"))))
    }
    return try SignatureWriter(key: key(name), certificates: certificates)
      .sign(Array(text.utf8), at: Timestamp(seconds: time))
  }
}
