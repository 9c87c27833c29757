import Foundation
import GatewayBench
import Testing

extension RealApp {
    private static let javaProgram = Servers.find(["/usr/bin/java"])
    private static let tomcatHome = "/usr/share/tomcat10"
    private static let tomcatExamples = "/usr/share/tomcat10-examples/examples"

    /// The examples of Tomcat's own: servlets with sessions, below a path that is part of the app.
    static let tomcat = RealApp(
        testDescription: "Tomcat",
        requireInstalled: {
            let files = ["\(Self.tomcatHome)/bin/bootstrap.jar", "\(Self.tomcatExamples)/WEB-INF/web.xml"]
            if Self.javaProgram == nil || !files.allSatisfy(FileManager.default.fileExists) {
                try Servers.missing("tomcat10 with tomcat10-examples")
            }
        },
        servers: { folder, port in
            for name in ["conf", "logs", "temp", "work"] {
                try FileManager.default.createDirectory(
                    at: folder.appending(path: name),
                    withIntermediateDirectories: true
                )
            }
            let settings = """
                <Server port="-1"><Service name="Catalina">
                <Connector port="\(port)" address="127.0.0.1" />
                <Engine name="Catalina" defaultHost="localhost">
                <Valve className="org.apache.catalina.valves.RemoteIpValve" protocolHeader="X-Forwarded-Proto" />
                <Host name="localhost" appBase="\(folder.path)/none" autoDeploy="false" deployOnStartup="false">
                <Context path="/examples" docBase="\(Self.tomcatExamples)" />
                </Host></Engine></Service></Server>
                """
            let conf = folder.appending(path: "conf")
            try settings.write(to: conf.appending(path: "server.xml"), atomically: true, encoding: .utf8)
            try FileManager.default.copyItem(
                at: URL(filePath: "\(Self.tomcatHome)/etc/web.xml"),
                to: conf.appending(path: "web.xml")
            )
            let jars = ["bootstrap.jar", "tomcat-juli.jar"].map { "\(Self.tomcatHome)/bin/\($0)" }
            let arguments =
                ["-Xmx256m", "-cp", jars.joined(separator: ":"), "-Dcatalina.home=\(Self.tomcatHome)"]
                + ["-Dcatalina.base=\(folder.path)", "org.apache.catalina.startup.Bootstrap", "start"]
            return [Server(program: Self.javaProgram ?? "", arguments: arguments, port: port)]
        },
        page: "/examples/servlets/servlet/RequestHeaderExample?from=link",
        user: { text in text.firstMatch(of: /x-remote-user\n<\/td><td>\n(.+)\n/).map { String($0.1) } },
        use: { visit in
            let path = "/examples/servlets/servlet/SessionExample"
            let page = try visit.send("GET", path)
            let session = try #require(page.text.firstMatch(of: /Session ID: (\w+)/), "\(page.text)").1
            // A form, whose data the session keeps.
            let form = ["Content-Type: application/x-www-form-urlencoded"]
            let sent = try visit.send("POST", path, form, body: "dataname=engine&datavalue=analytical")
            #expect(sent.text.contains("Session ID: \(session)"), "\(page.lines) \(sent.text)")
            let after = try visit.send("GET", path).text
            #expect(after.contains("Session ID: \(session)") && after.contains("engine = analytical"), "\(after)")
            // The URL of a session whose client keeps no cookies.
            let byPath = try visit.send("GET", "\(path);jsessionid=\(session)?dataname=a&datavalue=b")
            #expect(byPath.status == 200 && byPath.text.contains("Session ID: \(session)"), "\(byPath.text)")
            // A redirect of the container's own.
            let redirect = try visit.send("GET", "/examples")
            #expect(redirect.status == 302)
            #expect(redirect.value("location").map { $0.hasSuffix(visit.place.prefix + "/examples/") } == true)
            #expect(try visit.send("GET", "/examples/async/async1").status == 200)
        },
        stream: .socket("/examples/websocket/echoProgrammatic"),
        isLoaded: "document.body.innerText.includes('x-remote-user')"
    )
}
