import GatewayBench
package import Vocabulary

/// The doubles on a loopback port, for tests of the built gateway.
package final class SocialServer: Sendable {
    package let network: SocialNetwork
    private let server: FakeUpstream

    package init(_ registration: SocialNetwork.Registration = .init(), clock: Clock = .system) throws {
        let port = try ServerPorts.take()
        let network = SocialNetwork(base: "http://127.0.0.1:\(port)", registration, clock: clock)
        self.network = network
        self.server = try FakeUpstream(
            port: port,
            serve: FakeUpstream.answering { link, received in
                let request = SocialRequest(received.method, received.target, body: received.body)
                guard let answer = network.answer(to: request) else { return link.wire.close() }
                link.answer(
                    "\(answer.status) Scripted",
                    "Content-Type: application/json\r\n",
                    body: String(decoding: answer.body, as: UTF8.self)
                )
            }
        )
        Secrets.shared.note(registration.facebookSecret)
    }

    deinit {
        self.server.stop()
    }
}
