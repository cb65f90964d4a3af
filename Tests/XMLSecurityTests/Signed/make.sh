#!/bin/sh
# Signs the documents of this folder with xmlsec1, so that verification is tested against another implementation's signatures.
# The keys are thrown away: each run makes new files.
set -e
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# sign NAME ALGORITHM CANONICALIZATION CERTIFIED BODY: the key is $work/key.pem.
sign() {
  if [ "$4" = yes ]; then
    openssl req -x509 -key "$work/key.pem" -subj "/O=Corpus/CN=$1.example" -days 3650 \
      -out "$work/certificate.pem" 2>/dev/null
    key="$work/key.pem,$work/certificate.pem"
    info='<ds:X509Data/>'
  else
    key="$work/key.pem"
    info='<ds:KeyValue/>'
  fi
  cat > "$work/template.xml" <<EOF
<?xml version="1.0" encoding="UTF-8"?>
<!-- Signed by make.sh. -->
<ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript" name="$1">
$5
<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo>
<ds:CanonicalizationMethod Algorithm="$3"/>
<ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#$2"/>
<ds:Reference URI=""><ds:Transforms>
<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/>
<ds:Transform Algorithm="$3"/></ds:Transforms>
<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue/>
</ds:Reference></ds:SignedInfo><ds:SignatureValue/><ds:KeyInfo>$info</ds:KeyInfo></ds:Signature>
</ts:token>
EOF
  xmlsec1 --sign --privkey-pem "$key" --output "$1.xml" "$work/template.xml"
}

exclusive=http://www.w3.org/2001/10/xml-exc-c14n#
inclusive=http://www.w3.org/TR/2001/REC-xml-c14n-20010315

openssl genrsa -out "$work/key.pem" 2048 2>/dev/null
sign rsa-certificate rsa-sha256 $exclusive yes '<ts:label>Größe &amp; <![CDATA[<x>]]></ts:label>'
sign rsa-key rsa-sha256 $inclusive no '<ts:label/>'
sign rsa-sha512 rsa-sha512 $exclusive yes "<ts:code><![CDATA[$(seq -s ' ' 2000)]]></ts:code>"
for curve in prime256v1 secp256k1; do
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:$curve -out "$work/key.pem" 2>/dev/null
  sign $curve-certificate ecdsa-sha256 $exclusive yes \
    '<ts:a xmlns:b="urn:b" b:z="1" a="2"><!-- kept out --><b:c xmlns=""/></ts:a>'
done
