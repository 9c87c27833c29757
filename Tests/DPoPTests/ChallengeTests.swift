import JOSE
import Testing

@Suite struct ChallengeTests {
    private static let faults: [DPoPRefusal] = [
        .missing, .several, .tooLong, .header(JOSEError("the key is too short, too long or weak")), .type, .otherKey,
        .claims, .id, .method,
        .target, .accessToken, .signature,
    ]
    private static let needs: [DPoPRefusal] = [.required(nonce: "n"), .unusable(nonce: "n"), .clock(nonce: "n")]

    @Test func asksForANonceInTheFormThatSDKsRead() {
        #expect(
            DPoPChallenge.text(.required(nonce: "n"))
                == #"DPoP error="use_dpop_nonce", error_description="The DPoP proof needs a nonce from this server.", algs="ES256 EdDSA""#
        )
    }

    /// Auth0.Android splits at `, ` and wants `DPoP error` first; Auth0.swift takes the first `error=`.
    @Test func everyChallengeIsOneWithErrorFirst() {
        let refusals = Self.needs + Self.faults + [.bound, .notBound, .replayed]
        for text in refusals.map(DPoPChallenge.text) {
            let parts = text.split(separator: ", ")
            #expect(parts.count == 3 && parts[0].hasPrefix(#"DPoP error=""#), "\(text)")
            #expect(parts[1].hasPrefix(#"error_description=""#) && parts[2] == #"algs="ES256 EdDSA""#, "\(text)")
            #expect(
                text.filter { $0 == "\"" }.count == 6 && text.filter { $0 == "," }.count == 2 && !text.contains("\\"),
                "\(text)"
            )
            #expect(text.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "\(text)")
        }
    }

    @Test func aProofOfAnotherKeyMakesTheTokenInvalidAndAllElseTheProof() {
        for fault in Self.faults {
            let error = fault == .otherKey ? "invalid_token" : "invalid_dpop_proof"
            #expect(DPoPChallenge.text(fault).hasPrefix(#"DPoP error="\#(error)","#))
        }
    }

    @Test func withoutCredentialsBothSchemesAreNamedAndNoError() {
        #expect(DPoPChallenge.anyScheme == #"Bearer realm="sallyport", DPoP algs="ES256 EdDSA""#)
    }
}
