import os

os.environ["SITE_SEEN"] = "yes"
