import Foundation
import GatewayBench
import Testing

extension RealApp {
    private static let tornadoPython = Self.python(with: "tornado", in: "apps")

    /// A chat on Tornado: WebSockets, long polling, and forms with Tornado's own token against forgery.
    static let tornado = RealApp(
        testDescription: "Tornado",
        requireInstalled: {
            if Self.tornadoPython == nil { try Servers.missing("tornado", isOptional: true) }
        },
        servers: { _, port in
            let arguments = [Self.script("tornado-chat.py"), "\(port)"]
            return [Server(program: Self.tornadoPython ?? "", arguments: arguments, port: port)]
        },
        page: "/room/1?since=0",
        user: { text in text.firstMatch(of: /user: (\w+)/).map { String($0.1) } },
        use: { visit in
            let page = try visit.send("GET", "/room/1")
            let token = try #require(page.text.firstMatch(of: /name="_xsrf" value="([^"]+)"/), "\(page.text)").1
            let form = ["Content-Type: application/x-www-form-urlencoded"]
            #expect(try visit.send("POST", "/say", form, body: "text=engine").status == 403)
            let sent = try visit.send("POST", "/say", form, body: "text=engine&_xsrf=\(token)")
            #expect(sent.status == 302)
            #expect(sent.value("location").map { $0.hasSuffix(visit.place.prefix + "/room/1") } == true)
            // Answered after longer than what an answer's head had time for once.
            let polled = try visit.send("GET", "/poll?seconds=20")
            #expect(polled.status == 200 && polled.text == "nothing new", "\(polled.lines)")
        },
        stream: .socket("/socket")
    )
}
