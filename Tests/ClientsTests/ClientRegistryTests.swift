import Clients
import Settings
import Testing

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

    @Test("Without clients none is found")
    func empty() {
        #expect(ClientRegistry([]).snapshot.client("web-app") == nil)
    }
}
