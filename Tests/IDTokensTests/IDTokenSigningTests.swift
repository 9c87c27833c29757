import Cryptography
import JOSE
import Sessions
import SignOn
import Testing
import Vocabulary

@Suite("Where the keys of id_tokens come from")
struct IDTokenSigningTests {
    @Test("The keys of a file stand for those of the store, which is not asked")
    func file() async throws {
        let key = SigningKey.generated(.rs256)
        let body = Base64.encode(key.pkcs8.bytes)
        let pem = "-----BEGIN PRIVATE KEY-----\n\(body)\n-----END PRIVATE KEY-----\n"
        let ring = try #require(try SigningKeyFile(pem: Secret(pem)).idTokens)
        let signing = IDTokenSigning.file(ring)
        #expect(try await signing.signer().publicKey == key.publicKey)
        #expect(await signing.published()?.keys == [key.publicKey])
    }

    @Test("The store's key is made when the published keys are asked for, only where there are clients")
    func store() async throws {
        let bench = KeyBench()
        let unneeded = bench.gateway().keys
        await unneeded.refresh()
        #expect(await IDTokenSigning.store(unneeded, isNeeded: false).published()?.keys == [])
        #expect(bench.store.puts == 0)
        let needed = IDTokenSigning.store(bench.gateway().keys, isNeeded: true)
        let published = await needed.published()
        #expect(try await published?.keys == [needed.signer().publicKey])
        bench.store.change { $0.isAway = true }
        #expect(await needed.published()?.keys == published?.keys)
        #expect(await IDTokenSigning.store(bench.gateway().keys, isNeeded: true).published() == nil)
    }

    @Test("Where there are clients the store's key is made before anybody asks for it")
    func madeEarly() async throws {
        let bench = KeyBench()
        let unneeded = bench.gateway().keys
        IDTokenSigning.store(unneeded, isNeeded: false).makeReady()
        await unneeded.refresh()
        #expect(bench.store.puts == 0)
        let gateways = (0..<3).map { _ in bench.gateway().keys }
        for keys in gateways { IDTokenSigning.store(keys, isNeeded: true).makeReady() }
        // A read of its own makes no key.
        for keys in gateways { await keys.refresh() }
        let signer = try await gateways[0].signer().publicKey
        for keys in gateways { #expect(keys.published?.keys == [signer]) }
    }
}
