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
        command: { folder, port in
            let files = [
                "gateway.py": try Self.guide("python"), "settings.py": Self.settings + (try Self.guide("python", 1)),
                "app.py": Self.page,
            ]
            for (name, text) in files {
                try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
            }
            return (Self.djangoPython ?? "", ["app.py", "\(port)"])
        },
        user: { text in text.firstMatch(of: /user: (.+)\n/).map { String($0.1) } }
    )

    private static let settings = """
        ALLOWED_HOSTS = ["\(Request.host)"]
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
        from django.urls import path

        def page(request):
            name = f"user: {request.user.username}" if request.user.is_authenticated else "nobody"
            return HttpResponse(f"{name}\\ntoken: {get_token(request)}\\n", content_type="text/plain; charset=utf-8")

        urlpatterns = [path("", page)]

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
