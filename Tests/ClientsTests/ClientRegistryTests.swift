import JOSE
import Settings
import SignOn
import Testing
import Vocabulary

@Suite("Registered clients")
struct ClientRegistryTests {
    @Test("Clients are found by their exact id")
    func exactID() {
        let clients = ClientRegistry([ClientSettings(clientID: "native-app"), ClientSettings(clientID: "web-app")])
            .snapshot
        #expect(clients.client("web-app")?.clientID == "web-app")
        #expect(clients.client("Web-App") == nil)
        #expect(clients.client("web-app ") == nil)
        #expect(clients.client("") == nil)
    }

    @Test("A client's keys are those of its own file")
    func keys() {
        let key = SigningKey.generated(.es256).publicKey
        var signer = ClientSettings(clientID: "signer")
        signer.keySet = JSONText.encode(JWKSet(keys: [key]).value)
        let clients = ClientRegistry([signer, ClientSettings(clientID: "web-app")]).snapshot
        #expect(clients.keys(of: "signer")?.keys == [key])
        #expect(clients.keys(of: "web-app") == nil && clients.keys(of: "nobody") == nil)
    }

    @Test("An origin is allowed that some client lists, byte for byte")
    func origins() {
        var spa = ClientSettings(clientID: "spa")
        spa.allowedOrigins = ["https://caf\u{E9}.example"]
        let clients = ClientRegistry([spa, ClientSettings(clientID: "web-app")]).snapshot
        #expect(clients.allows(origin: "https://caf\u{E9}.example"))
        for origin in ["https://cafe\u{301}.example", "https://caf\u{E9}.example/", "null", ""] {
            #expect(!clients.allows(origin: origin))
        }
    }

    @Test("The grant implicit is there if some client has it")
    func implicit() {
        var express = ClientSettings(clientID: "express")
        #expect(!ClientRegistry([express]).snapshot.hasImplicit)
        express.grantTypes = [.implicit]
        #expect(ClientRegistry([ClientSettings(clientID: "app"), express]).snapshot.hasImplicit)
    }

    @Test("The hosts of a provider see its clients only, also after a change")
    func providers() {
        var back = ClientSettings(clientID: "back-office")
        back.providers = ["staff"]
        let groups = [["staff"], ["default"], ["default", "staff"]]
        let registry = ClientRegistry([ClientSettings(clientID: "shop"), back], groups: groups)
        let (staff, shop) = (registry.clients(of: ["staff"]), registry.clients(of: ["default"]))
        for _ in 0..<2 {
            #expect(staff.snapshot.client("back-office") != nil && staff.snapshot.client("shop") == nil)
            #expect(shop.snapshot.client("shop") != nil && shop.snapshot.client("back-office") == nil)
            #expect(registry.clients(of: ["other"]).snapshot.isEmpty)
            let both = registry.clients(of: ["default", "staff"]).snapshot
            #expect(both.client("back-office") != nil && both.client("shop") != nil)
            registry.adopt([:])
        }
        #expect(registry.snapshot.client("back-office") != nil && registry.snapshot.client("shop") != nil)
    }

    @Test("Without clients none is found")
    func empty() {
        #expect(ClientRegistry([]).snapshot.client("web-app") == nil)
    }
}
