extension PageLanguage {
    static let spanish = PageLanguage(
        tag: "es",
        table: """
            sign_in.title: Iniciar sesión
            sign_in.host: para continuar a {host}
            sign_in.identifier: Correo electrónico o nombre de usuario
            sign_in.password: Contraseña
            sign_in.show_password: Mostrar la contraseña
            sign_in.caps_lock: El bloqueo de mayúsculas está activado.
            sign_in.stay: Mantener la sesión iniciada en este dispositivo
            sign_in.submit: Iniciar sesión
            sign_in.continue: Continuar
            sign_in.provider: Continuar con {provider}
            sign_in.last_used: El último que se usó en este dispositivo
            sign_in.or: o
            sign_in.away: No disponible por el momento
            sign_in.other: o iniciar sesión con otra cuenta
            notice.refused: El nombre o la contraseña no es correcto. Inténtelo de nuevo.
            notice.incomplete: Escriba su nombre y su contraseña.
            notice.no_identifier: Escriba su correo electrónico o su nombre de usuario.
            notice.throttled: Demasiados intentos. Espere y vuelva a intentarlo.
            notice.unavailable: No es posible iniciar sesión en este momento. Inténtelo de nuevo en breve.
            notice.cross_site: Este inicio de sesión no venía de esta página. Escriba de nuevo su contraseña.
            notice.again: La página que quiere abrir le pide que inicie sesión de nuevo.
            notice.handoff: No se ha podido iniciar su sesión automáticamente. Inicie sesión aquí.
            notice.ended: Su sesión ha terminado. Inicie sesión y volverá a la página que quería.
            notice.idle: Se ha cerrado su sesión porque llevaba un tiempo sin usar este sitio. Inicie sesión y volverá a la página que quería.
            notice.idle_for: Se ha cerrado su sesión porque no ha usado este sitio durante {time}. Inicie sesión y volverá a la página que quería.
            notice.expired: Se ha cerrado su sesión porque la inició hace demasiado tiempo. Inicie sesión y volverá a la página que quería.
            notice.expired_after: Se ha cerrado su sesión porque una sesión dura como máximo {time}. Inicie sesión y volverá a la página que quería.
            notice.sign_out_uncertain: No es posible cerrar la sesión en este momento: puede que siga abierta. Inténtelo de nuevo en breve.
            wait.seconds: Podrá intentarlo de nuevo dentro de {count} segundos.
            wait.minutes: Podrá intentarlo de nuevo dentro de {count} minutos.
            time.minutes: {count} minutos
            time.hours: {count} horas
            time.days: {count} días
            signed_out.title: Sesión cerrada
            signed_out.text: Ha cerrado la sesión en todas las páginas de este sitio.
            signed_out.sign_in: Iniciar sesión de nuevo
            sign_out.title: Cerrar sesión
            sign_out.question: ¿Quiere cerrar la sesión en {host}?
            sign_out.submit: Cerrar sesión
            sign_out.stay: Mantener la sesión
            confirm.title: ¿Iniciar sesión con esta cuenta?
            confirm.account: Se iniciará sesión en {host} como {account}.
            confirm.own: Continúe solo si esta cuenta es suya y acaba de abrir esta página desde su aplicación o desde un enlace que ha pedido.
            confirm.actor: Continúe solo si usted es {actor} y actúa en nombre de esta cuenta.
            confirm.submit: Iniciar sesión
            confirm.elsewhere: Continuar sin esta cuenta
            sessions.title: Dónde tiene la sesión iniciada
            sessions.advice: Si no reconoce alguna de estas sesiones, ciérrela y cambie su contraseña.
            sessions.advice_provider: Si no reconoce alguna de estas sesiones, ciérrela y cambie la contraseña de la cuenta con la que inicia sesión.
            sessions.change_password: Cambiar su contraseña
            sessions.sign_out_here: Cerrar sesión aquí
            sessions.current: Esta sesión
            sessions.sign_out: Cerrar sesión
            sessions.sign_out_named: Cerrar la sesión de {device}
            sessions.others: Cerrar sesión en todos los demás sitios
            sessions.browser: Navegador
            sessions.app: Aplicación
            sessions.transfer: Navegador abierto por una aplicación
            sessions.actor: usada por {actor}, que actúa en su nombre
            sessions.address: desde {address}
            sessions.seen: vista por última vez {time}
            sessions.host: en {host}
            sessions.device: {program} en {system}
            sessions.unknown_device: Dispositivo desconocido
            page.support: Ayuda
            page.reason: Motivo
            page.request: Solicitud
            page.account: Ha iniciado sesión como {account}.
            form_post.title: Un momento
            form_post.submit: Continuar
            link.again: Intentar de nuevo
            link.start: Ir a la página de inicio
            link.client: Volver a la aplicación
            link.sign_in: Iniciar sesión
            link.other_account: Iniciar sesión con otra cuenta
            refusal.asks_app: La aplicación que muestra esta página vuelve a iniciar su sesión. Si no lo hace, abra la página otra vez desde la aplicación o inicie sesión aquí.
            form.uncertain: No se sabe si ha llegado lo que escribió.
            form.check_first: Antes de enviarlo de nuevo, compruebe si ya se hizo.
            form.not_sent: Lo que escribió no se ha enviado y no se guarda.
            form.send_again: Use el botón Atrás de su navegador y envíe el formulario de nuevo dentro de un momento.
            form.sign_in: Inicie sesión y envíe el formulario de nuevo. Puede que el botón Atrás de su navegador aún muestre lo que escribió.
            refusal.cross_site.title: Esto viene de otro sitio
            refusal.cross_site.event: Por su seguridad, un enlace o formulario de otro sitio no puede actuar aquí en su nombre.
            refusal.cross_site.advice: Abra usted este sitio y haga en él lo que quería hacer.
            refusal.ambiguous_address.title: No se puede abrir esta dirección
            refusal.ambiguous_address.event: La dirección está escrita de un modo que podría indicar más de una página.
            refusal.ambiguous_address.advice: Compruebe cómo está escrita o empiece en la página de inicio.
            refusal.session_ended.title: Inicie sesión de nuevo
            refusal.session_ended.event: Su sesión ha terminado.
            refusal.session_ended.advice: Inicie sesión de nuevo para continuar.
            refusal.network_changed.title: Inicie sesión de nuevo
            refusal.network_changed.event: Su dispositivo ha cambiado de red desde que inició la sesión.
            refusal.network_changed.advice: Inicie sesión de nuevo para continuar.
            refusal.sign_in_cancelled.title: Inicio de sesión cancelado
            refusal.sign_in_cancelled.event: El inicio de sesión fue cancelado por usted o por el servicio de acceso.
            refusal.sign_in_cancelled.advice: Inténtelo de nuevo, o cierre esta página si ha cambiado de opinión.
            refusal.interaction_required.title: Inicie sesión
            refusal.interaction_required.event: El servicio de acceso tiene que preguntarle algo antes.
            refusal.interaction_required.advice: Inicie sesión para continuar.
            refusal.provider_error.title: No se pudo iniciar sesión
            refusal.provider_error.event: El servicio de acceso comunicó un error.
            refusal.provider_error.advice: Inténtelo de nuevo. Si vuelve a ocurrir, comunique el motivo que figura abajo a los responsables de este sitio.
            refusal.invalid_token.title: No se pudo iniciar sesión
            refusal.invalid_token.event: No se pudo comprobar lo que el servicio de acceso dice de usted.
            refusal.invalid_token.advice: Inténtelo de nuevo. Si vuelve a ocurrir, comunique el motivo que figura abajo a los responsables de este sitio.
            refusal.state_mismatch.title: No se puede completar este inicio de sesión
            refusal.state_mismatch.event: Tardó demasiado, se empezó en otro navegador o junto a demasiados otros, o su navegador no guarda las cookies de este sitio.
            refusal.state_mismatch.advice: Permita que este sitio guarde cookies e inténtelo de nuevo.
            refusal.not_allowed.title: Su cuenta no tiene acceso aquí
            refusal.not_allowed.event: Ha iniciado sesión con una cuenta que no puede usar este sitio.
            refusal.not_allowed.advice: Pida acceso a los responsables de este sitio o inicie sesión con otra cuenta.
            refusal.insufficient.title: Se necesita una autenticación más segura
            refusal.insufficient.event: Ha iniciado sesión, pero la página que quiere exige una autenticación más segura o más reciente.
            refusal.insufficient.advice: Inténtelo de nuevo y confirme con un segundo factor o con su contraseña si se le pide.
            refusal.repeated.title: La sesión no se mantiene
            refusal.repeated.event: Ha iniciado sesión varias veces en un minuto, pero su navegador volvió sin sesión.
            refusal.repeated.advice: Permita que este sitio guarde cookies e inténtelo de nuevo. Si vuelve a ocurrir, avise a los responsables de este sitio.
            refusal.bad_link.title: Este enlace no funciona
            refusal.bad_link.event: La aplicación que le envió aquí no está registrada con esta dirección.
            refusal.bad_link.advice: Vuelva a la aplicación. Si ocurre de nuevo, avise a sus autores.
            refusal.request_used.title: Este inicio de sesión ha terminado
            refusal.request_used.event: Ya se usó, o tardó demasiado.
            refusal.request_used.advice: Vuelva a la aplicación e inicie sesión allí de nuevo.
            refusal.flow_ended.title: Este inicio de sesión ha terminado
            refusal.flow_ended.event: Tardó demasiado, o su dirección no está completa.
            refusal.flow_ended.advice: Vuelva a la aplicación e inicie sesión allí de nuevo.
            refusal.prefetched_sign_in.title: Abra esta página otra vez
            refusal.prefetched_sign_in.event: Su navegador cargó el inicio de sesión antes de que usted lo abriera.
            refusal.prefetched_sign_in.advice: Ábrala ahora.
            refusal.too_old.title: Inicie sesión de nuevo
            refusal.too_old.event: Esta página exige un inicio de sesión más reciente que el suyo.
            refusal.too_old.advice: Inicie sesión de nuevo para continuar.
            refusal.second_factor.title: Se necesita un segundo factor
            refusal.second_factor.event: Esta página exige una autenticación más segura que la suya.
            refusal.second_factor.advice: Inicie sesión con una cuenta que tenga un segundo factor o pregunte a los responsables de este sitio.
            refusal.only_user.title: Solo el usuario puede abrir esta página
            refusal.only_user.event: Usted actúa en nombre del usuario de esta cuenta, y esta página está cerrada para los demás.
            refusal.only_user.advice: Continúe con otra página, o deje que lo haga el usuario.
            refusal.no_access.title: No tiene acceso a esta página
            refusal.no_access.event: Ha iniciado sesión, pero esta página no está abierta para su cuenta.
            refusal.no_access.advice: Pida acceso a los responsables de este sitio o inicie sesión con otra cuenta.
            refusal.apps_only.title: Esta página es para aplicaciones
            refusal.apps_only.event: Ha iniciado sesión, pero esta página solo está abierta para aplicaciones, no para navegadores.
            refusal.apps_only.advice: Use la aplicación o empiece en la página de inicio.
            refusal.unusable_account.title: Su cuenta no se puede usar aquí
            refusal.unusable_account.event: Su cuenta contiene algo que la aplicación detrás de esta página no puede aceptar.
            refusal.unusable_account.advice: Comunique el motivo que figura abajo a los responsables de este sitio.
            refusal.prefetched_link.title: Abra este enlace otra vez
            refusal.prefetched_link.event: Su navegador cargó esta página antes de que usted la abriera.
            refusal.prefetched_link.advice: Ábralo ahora.
            refusal.unconfirmed.title: Ya no se puede iniciar su sesión desde aquí
            refusal.unconfirmed.event: La pregunta estuvo abierta más de un minuto, o su navegador no guardó su cookie.
            refusal.unconfirmed.advice: Abra la página otra vez desde donde venía, o inicie sesión.
            refusal.already_signed_in.title: Ya ha iniciado sesión
            refusal.already_signed_in.event: El enlace inicia sesión en nombre de otra persona, lo que solo es posible donde nadie tiene la sesión iniciada.
            refusal.already_signed_in.advice: Cierre la sesión aquí y abra un enlace nuevo desde donde obtuvo este.
            refusal.rule_denied.title: Esto no está permitido
            refusal.rule_denied.event: Las reglas de este sitio no permiten este inicio de sesión.
            refusal.rule_denied.advice: Si se trata de un error, pregunte a los responsables de este sitio.
            refusal.ticket_used.title: No se puede completar este inicio de sesión
            refusal.ticket_used.event: Tardó demasiado, o su dirección ya se usó.
            refusal.ticket_used.advice: Inténtelo de nuevo. Si ya ha iniciado sesión, no se le pedirá otra vez.
            refusal.other_browser.title: No se puede completar este inicio de sesión
            refusal.other_browser.event: Se empezó en otro navegador, ya está completado, o su navegador no guarda las cookies de este sitio.
            refusal.other_browser.advice: Permita que este sitio guarde cookies e inténtelo de nuevo.
            refusal.no_cookie.title: La sesión no se mantiene
            refusal.no_cookie.event: Ha iniciado sesión, pero su navegador volvió sin sesión.
            refusal.no_cookie.advice: Permita que este sitio guarde cookies y abra otra vez la página que quiere ver.
            refusal.ticket_malformed.title: No se puede abrir esta dirección
            refusal.ticket_malformed.event: Pertenece a un inicio de sesión que ya terminó.
            refusal.ticket_malformed.advice: Abra otra vez la página que quiere ver.
            refusal.unchecked.title: Inténtelo de nuevo en un momento
            refusal.unchecked.event: En este momento no se puede comprobar su sesión; no se ha cerrado.
            refusal.unchecked.advice: Espere unos segundos e inténtelo de nuevo.
            refusal.overloaded.title: Inténtelo de nuevo en un momento
            refusal.overloaded.event: Este sitio tiene demasiado trabajo en este momento.
            refusal.overloaded.advice: Espere unos segundos e inténtelo de nuevo.
            refusal.app_unreachable.title: No se puede acceder a la aplicación
            refusal.app_unreachable.event: La aplicación detrás de esta página no acepta conexiones en este momento.
            refusal.app_unreachable.advice: Espere unos segundos e inténtelo de nuevo. Si sigue así, avise a los responsables de este sitio.
            refusal.app_slow.title: La aplicación tarda demasiado
            refusal.app_slow.event: La aplicación detrás de esta página no ha respondido a tiempo.
            refusal.app_slow.advice: Espere unos segundos e inténtelo de nuevo. Si sigue así, avise a los responsables de este sitio.
            refusal.app_broken.title: La aplicación no respondió
            refusal.app_broken.event: La aplicación detrás de esta página no dio ninguna respuesta que se pueda mostrar.
            refusal.app_broken.advice: Espere unos segundos e inténtelo de nuevo. Si sigue así, avise a los responsables de este sitio.
            refusal.unauthenticated.title: Inicie sesión
            refusal.unauthenticated.event: No ha iniciado sesión, o su sesión ha terminado.
            refusal.unauthenticated.advice: Inicie sesión para continuar.
            refusal.forbidden.title: Esto no está permitido
            refusal.forbidden.event: No puede hacer esto aquí.
            refusal.forbidden.advice: Si cree que debería poder hacerlo, pregunte a los responsables de este sitio.
            refusal.not_found.title: Página no encontrada
            refusal.not_found.event: No hay nada en esta dirección.
            refusal.not_found.advice: Compruebe cómo está escrita o empiece en la página de inicio.
            refusal.unknown_host.title: Página no encontrada
            refusal.unknown_host.event: Este sitio no se conoce aquí por el nombre que aparece en la dirección.
            refusal.unknown_host.advice: Compruebe cómo está escrita la dirección.
            refusal.wrong_method.title: Esto no funciona aquí
            refusal.wrong_method.event: Hay algo en esta dirección, pero no se puede usar de este modo.
            refusal.wrong_method.advice: Vuelva atrás o empiece en la página de inicio.
            refusal.slow_request.title: Esto tardó demasiado
            refusal.slow_request.event: Su solicitud no llegó a tiempo.
            refusal.slow_request.advice: Compruebe su conexión e inténtelo de nuevo.
            refusal.too_large.title: Esto es demasiado grande
            refusal.too_large.event: Ha enviado más de lo que esta página acepta.
            refusal.too_large.advice: Vuelva atrás y envíe un archivo más pequeño o menos texto.
            refusal.long_address.title: Esta dirección es demasiado larga
            refusal.long_address.event: La dirección es más larga de lo que este sitio acepta.
            refusal.long_address.advice: Vuelva atrás y escriba menos, o empiece en la página de inicio.
            refusal.too_many.title: Espere un momento
            refusal.too_many.event: Desde aquí llegaron demasiadas solicitudes en poco tiempo.
            refusal.too_many.advice: Espere un minuto e inténtelo de nuevo.
            refusal.large_fields.title: Su navegador envió demasiado
            refusal.large_fields.event: Su navegador envió más cookies u otros datos de los que este sitio acepta.
            refusal.large_fields.advice: Borre las cookies de este sitio en los ajustes de su navegador e inténtelo de nuevo.
            refusal.failed.title: Inténtelo de nuevo en un momento
            refusal.failed.event: Esta página no se puede mostrar en este momento.
            refusal.failed.advice: Espere unos segundos e inténtelo de nuevo.
            refusal.not_understood.title: No se entendió esta solicitud
            refusal.not_understood.event: Su navegador, o algo entre él y este sitio, envió algo que no se puede leer con certeza.
            refusal.not_understood.advice: Inténtelo de nuevo. Si vuelve a ocurrir, use otro navegador u otra red.
            """
    )
}
