import Foundation
import GatewayBench
import Testing

extension RealApp {
    private static let djangoPython = Self.python(with: "django")

    /// An app with Django's own sessions, on the server of Python's library, which reads `_` as `-`.
    static let django = RealApp(
        testDescription: "django",
        requireInstalled: {
            if Self.djangoPython == nil { try Servers.missing("django", isOptional: true) }
        },
        servers: { folder, port in
            let files = [
                "gateway.py": try Self.guide("python"), "settings.py": Self.settings + (try Self.guide("python", 1)),
                "app.py": Self.page,
            ]
            for (name, text) in files {
                try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
            }
            return [Server(program: Self.djangoPython ?? "", arguments: ["app.py", "\(port)"], port: port)]
        },
        page: "/notes/?year=1843&page=%C3%A4",
        user: { text in text.firstMatch(of: /user: (.+)\n/).map { String($0.1) } },
        use: { visit in
            // A form, and the redirect after it.
            let token = try #require(try visit.send("GET", "/").text.firstMatch(of: /token: (\w+)/)?.1)
            let sent = try visit.send("POST", "/", Self.form, body: "csrfmiddlewaretoken=\(token)")
            #expect(sent.status == 200 && sent.text.contains("user: ada\n"), "\(sent.lines) \(sent.text)")
            #expect(try visit.send("POST", "/", Self.form, body: "").status == 403)
        }
    )

    /// Fields of a request with a form.
    static let form = ["Content-Type: application/x-www-form-urlencoded"]

    private static let settings = """
        ALLOWED_HOSTS = ["\(Request.host)", "127.0.0.2", "127.0.0.3"]
        SECRET_KEY = "a key of this test"
        ROOT_URLCONF = "app"
        USE_TZ = True
        DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
        INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"]
        MIDDLEWARE = [
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ]

        """

    /// Says who the user is, and gives out the token without which Django takes no form.
    private static let page = """
        import os, sys
        from wsgiref.simple_server import make_server

        os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
        import django
        from django.http import HttpResponse
        from django.middleware.csrf import get_token
        from django.urls import re_path

        def page(request):
            name = f"user: {request.user.username}" if request.user.is_authenticated else "nobody"
            return HttpResponse(f"{name}\\ntoken: {get_token(request)}\\n", content_type="text/plain; charset=utf-8")

        urlpatterns = [re_path("", page)]

        if __name__ == "__main__":
            from django.core.management import call_command
            from django.core.wsgi import get_wsgi_application

            serve = get_wsgi_application()
            call_command("migrate", verbosity=0)
            make_server("127.0.0.1", int(sys.argv[1]), serve).serve_forever()
        """
}

@Suite("A Django app behind the gateway", .blocking) struct DjangoTests {
    @Test("Django's own session of one user is no session of another, and none without the gateway's")
    func sessions() throws {
        try RealAppBench.with(.django) { bench throws in
            var ada = try bench.signIn(RealAppBench.ada)
            var nameless = try bench.signIn(RealAppBench.nameless)
            var grace = try bench.signIn(RealAppBench.grace)
            #expect(try bench.user(&ada) == "ada")
            let kept = try #require(ada.jars[Request.host]?["sessionid"])
            for (browser, name) in [(grace, "grace"), (nameless, nil)] {
                var thief = browser
                thief.jars[Request.host]?["sessionid"] = kept
                #expect(try bench.user(&thief) == name)
            }
            #expect(try bench.user(&grace) == "grace")
            #expect(try bench.user(&nameless) == nil)
            #expect(try bench.userWithoutGateway(["Cookie: sessionid=\(kept)"]) == nil)
        }
    }

    @Test("Django takes a form that it made, and no other")
    func forms() throws {
        try RealAppBench.with(.django) { bench throws in
            var ada = try bench.signIn(RealAppBench.ada)
            let token = try #require(try bench.ask(&ada).text.firstMatch(of: /token: (\w+)/)?.1)
            // With the client's word for https, Django would expect another origin.
            let fields = [
                "Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded",
                "X-Forwarded-Proto: https", "x_forwarded_proto: https",
            ]
            func post(_ body: String) throws -> Answer {
                try ada.send("POST", Request.origin + "/", fields, body: body)
            }
            let accepted = try post("csrfmiddlewaretoken=\(token)")
            #expect(accepted.status == 200 && accepted.text.contains("user: ada\n"), "\(accepted.text)")
            #expect(try post("").status == 403)
        }
    }
}
