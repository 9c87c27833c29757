import Calls
import Providers
import Sessions
import Settings
import SocialBench
import StoreBench
import Testing
import Transport
import Vocabulary

@Suite("Social providers over the network")
struct SocialServerTests {
    @Test("Each kind of artefact is verified by a server, and an aborted connection is an outage")
    func overHTTP() async throws {
        let server = try SocialServer()
        let network = server.network
        let client = CallClient(group: try TransportGroup(count: 1))
        let verifiers = try SocialVerifiers(
            NativeSocialSettings(network),
            transport: try client.transport(),
            clock: .system
        )
        let artefacts: [(SocialSubjectToken, Secret)] = [
            (.google, network.googleToken()), (.apple, network.appleCode()), (.facebook, network.facebookToken()),
        ]
        for (kind, artefact) in artefacts {
            let verdict = try await #require(verifiers[kind]).outcome(of: SocialSignIn(artefact: artefact))
            #expect(verdict.user?.identity.id.hasPrefix("\(kind.connection)|") == true, "\(verdict)")
        }
        #expect(network.complaints.isEmpty)
        for (kind, endpoint, artefact) in [
            (.apple, .appleToken, network.appleCode()), (.facebook, .facebookDebug, network.facebookToken()),
        ] as [(SocialSubjectToken, SocialEndpoint, Secret)] {
            network.breakDown(endpoint, with: .silence)
            let verdict = try await #require(verifiers[kind]).outcome(of: SocialSignIn(artefact: artefact))
            #expect(verdict.outage != nil, "\(verdict)")
        }
        await client.shutdown()
    }
}
