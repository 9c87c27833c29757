import Foundation
import GatewayBench
import Testing

/// The way of a user through an app at each of its places, over TLS and HTTP/2: signed in by a header, using it, handed off to
/// it, ended while it is open.
private func expectAppWorks(_ app: RealApp) throws {
    try AppWalk.with(app) { walk throws in
        let ada = app.knowsUsers ? "ada" : nil
        for place in walk.places {
            let session = try walk.nativeSession()
            let page = place.url(app.page)
            let client = try walk.client()
            let arrival = try client.submit(client.open(page))
            #expect(arrival.url == page && arrival.answer.status == 200, "\(arrival.url) \(arrival.answer.lines)")
            #expect(arrival.version == "2")
            #expect(try walk.user(arrival, client, at: place) == ada, "\(arrival.answer.utf8.prefix(1000))")
            try app.use(AppVisit(place: place, client: client, token: session, folder: walk.folder))

            try expectHandoff(walk, session, at: place)
            try expectEnd(walk, client, at: place)
        }
    }
}

/// A native app's user arrives at the page that was linked to, by a token in its query and by a cookie.
private func expectHandoff(_ walk: AppWalk, _ session: String, at place: AppPlace) throws {
    let page = place.url(walk.app.page)
    for isQuery in [true, false] {
        let token = "session_transfer_token=\(try walk.transferToken(session, for: place))"
        let client = try walk.client()
        let arrival =
            try isQuery
            ? client.open(page + (page.contains("?") ? "&" : "?") + token)
            : client.open(page, ["Cookie: auth0_\(token)"])
        #expect(arrival.url == page && arrival.answer.status == 200, "\(arrival.url) \(arrival.answer.lines)")
        #expect(try walk.user(arrival, client, at: place) == (walk.app.knowsUsers ? "ada" : nil))
    }
}

/// An operator ends the session of a client with an open page.
private func expectEnd(_ walk: AppWalk, _ client: WebCurl, at place: AppPlace) throws {
    var stream: WebCurl.Stream?
    if case .events(let path) = walk.app.stream {
        stream = try client.listen(place.url(path))
        #expect(eventually { stream?.text.contains("data:") == true })
    }
    defer { stream?.stop() }
    let page = place.url(walk.app.page)
    #expect(try client.send("GET", page).status == 200)
    try walk.signAdaOut()
    let script = try client.send("GET", page)
    #expect(script.status == 401, "\(script.lines)")
    if let stream { #expect(eventually { stream.hasEnded }) }
    let reloaded = try client.open(page)
    #expect(reloaded.url.hasPrefix("\(walk.entrance)/.sallyport/login"), "\(reloaded.url)")
}

@Suite("Real apps behind a gateway with TLS and HTTP/2", .blocking) struct AppWalkTests {
    @Test(
        "An app on its own host and below a prefix: header, use, handoff and an operator's sign-out work",
        arguments: RealApp.quick
    )
    func quick(_ app: RealApp) throws {
        try expectAppWorks(app)
    }
}

@Suite(
    "Every real app behind a gateway with TLS and HTTP/2",
    .blocking,
    .enabled(if: ProcessInfo.processInfo.environment["SOAK"] != nil, "only with SOAK")
)
struct LongAppWalkTests {
    @Test(
        "Every app on its own host and below a prefix: header, use, handoff and an operator's sign-out work",
        arguments: RealApp.all
    )
    func all(_ app: RealApp) throws {
        try expectAppWorks(app)
    }
}
