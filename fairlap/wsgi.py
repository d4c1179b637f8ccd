"""The site for a WSGI server: `gunicorn fairlap.wsgi`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fairlap.settings")

application = get_wsgi_application()
