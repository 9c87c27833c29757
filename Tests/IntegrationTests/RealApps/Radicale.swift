import Foundation
import GatewayBench
import Testing

extension RealApp {
    private static let radicalePython = Self.python(with: "radicale")

    /// PyPI's server of calendars and address books.
    static let radicale = RealApp(
        testDescription: "radicale",
        requireInstalled: {
            if Self.radicalePython == nil { try Servers.missing("radicale", isOptional: true) }
        },
        servers: { folder, port in
            let file = folder.appending(path: "radicale.ini")
            try Self.guide("ini").write(to: file, atomically: true, encoding: .utf8)
            let own = ["--server-hosts", "127.0.0.1:\(port)", "--storage-filesystem-folder", folder.path]
            let arguments = ["-m", "radicale", "--config", file.path] + own
            return [Server(program: Self.radicalePython ?? "", arguments: arguments, port: port)]
        },
        page: "/.web/",
        // RFC 5397: the principal is the user.
        question: (
            "PROPFIND", "/", #"<propfind xmlns="DAV:"><prop><current-user-principal/></prop></propfind>"#
        ),
        user: { text in
            let path = text.firstMatch(of: /<current-user-principal><href>[^<]*\/([^\/<]+)\/<\/href>/)?.1
            return path.flatMap { String($0).removingPercentEncoding }
        },
        prefixKeys: ", request_headers: {set: {X-Script-Name: \(AppWalk.prefix)}}",
        use: { visit in
            #expect(try visit.send("MKCALENDAR", "/ada/notes/", body: "").status == 201)
            let event = ["Content-Type: text/calendar"]
            #expect(try visit.send("PUT", "/ada/notes/1.ics", event, body: RadicaleTests.event).status == 201)
            #expect(try visit.send("GET", "/ada/notes/1.ics").text.contains("SUMMARY:Notes on the engine"))
            // The hrefs are those of the place, and a client sends them back in a Destination.
            let listed = try visit.send("PROPFIND", "/ada/notes/", ["Depth: 1"], body: "")
            #expect(listed.text.contains("<href>\(visit.place.prefix)/ada/notes/1.ics</href>"), "\(listed.text)")
            let destination = "Destination: \(visit.place.url("/ada/notes/2.ics"))"
            #expect(try visit.send("MOVE", "/ada/notes/1.ics", [destination]).status == 201)
            #expect(try visit.send("GET", "/ada/notes/2.ics").status == 200)
            #expect(try visit.send("DELETE", "/ada/notes/").status == 200)
        },
        isLoaded: "document.body.innerText.toLowerCase().includes(\"ada's collections\")"
    )
}

@Suite("Radicale behind the gateway", .blocking) struct RadicaleTests {
    static let event = """
        BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:a\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTAMP:20260101T000000Z\r
        DTSTART:20260101T000000Z\r\nSUMMARY:Notes on the engine\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n
        """

    @Test("A user keeps a calendar that nobody else can read or change")
    func calendar() throws {
        try RealAppBench.with(.radicale) { bench throws in
            func send(
                _ browser: inout WebUser,
                _ method: String,
                _ path: String,
                _ body: String? = nil
            ) throws -> Answer {
                let fields = ["Origin: \(Request.origin)", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"]
                return try browser.send(method, Request.origin + path, fields, body: body)
            }
            var ada = try bench.signIn(RealAppBench.ada)
            #expect(try send(&ada, "MKCALENDAR", "/ada/notes/", "").status == 201)
            #expect(try send(&ada, "PUT", "/ada/notes/1.ics", Self.event).status == 201)
            #expect(try send(&ada, "GET", "/ada/notes/1.ics").text.contains("SUMMARY:Notes on the engine"))

            var grace = try bench.signIn(RealAppBench.grace)
            for (method, body) in [("GET", nil), ("PUT", Self.event), ("DELETE", nil)] {
                #expect(try send(&grace, method, "/ada/notes/1.ics", body).status == 403, "\(method)")
            }
            #expect(try send(&ada, "GET", "/ada/notes/1.ics").status == 200)
        }
    }
}
